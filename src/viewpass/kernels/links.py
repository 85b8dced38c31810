"""Constants of soft assignments: a row is a mixture of a few anchors, with weights on a grid."""

UNIT = 2**15  # weights are whole numbers of 1 / UNIT
NEIGHBOURS = 4  # anchors per row
