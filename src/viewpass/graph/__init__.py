"""The anchor graph: links between anchors that share rows, and how it is cut."""
