"""The methods the paper compares with: OMVC, ONMF, MultiNMF, MIC and DAIMC."""
