"""Baselines that the paper compares with: OMVC, ONMF, MultiNMF, MIC and DAIMC."""
