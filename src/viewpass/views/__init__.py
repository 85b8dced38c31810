"""What travels: chunks of rows, the checks they pass, the scale they are brought to."""
