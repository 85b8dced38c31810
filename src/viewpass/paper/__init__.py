"""The paper's tables and figures, measured again: one module each, and a page that sets both side by side."""
