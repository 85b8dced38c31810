"""ViewPass, OPIMC and IMC: parameters, checks, fitted attributes."""
