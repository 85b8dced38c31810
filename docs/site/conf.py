"""Settings of Sphinx for the site; `make docs` prepares the pages and runs it."""

import viewpass

project = "viewpass"
author = "the viewpass developers"
copyright = author
version = release = viewpass.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx_copybutton"]
root_doc = "index"
nitpicky = True
default_role = "code"  # docstrings write names between single backticks
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]

autodoc_typehints = "none"  # numpydoc's sections say the types
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
copybutton_selector = "div.highlight-python pre, div.highlight-sh pre"

html_theme = "pydata_sphinx_theme"
html_title = f"viewpass {release}"
html_static_path = ["static"]
html_css_files = ["viewpass.css"]
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}  # light or dark, as the system is
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 7,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}
