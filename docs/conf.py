"""Settings of the documentation: `make docs`."""

project = "omni_bench"
author = "The omni_bench developers"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "omni_bench"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
# code blocks are commands and file trees as often as Python
highlight_language = "none"
