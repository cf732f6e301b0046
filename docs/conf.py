"""How Sphinx makes a site of the guides, of the docstrings and of what is known by name."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))

import executed_pages  # noqa: E402 (found by the line above)
import reference_pages  # noqa: E402

import simsched  # noqa: E402

project = "simsched"
author = "The simsched authors"
copyright = author  # noqa: A001 (Sphinx wants this name)
version = release = simsched.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
default_role = "code"
myst_heading_anchors = 4
# Words in the type of a parameter are looked up as names, and a shape such as `(n_tasks,)` has
# words that several classes have. Nothing colours CSV; that code is well formed is tested apart.
suppress_warnings = ["ref.python", "misc.highlighting_failure"]

# One way to write docstrings; parameters with types, units and shapes stay as they were written.
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"show-inheritance": True}

html_theme = "furo"
html_title = f"simsched {version}"
html_static_path: list[str] = []

# Examples of trees, outputs and errors are not programs.
highlight_language = "none"

reference_pages.write(HERE / "reference", HERE.parent)
executed_pages.write(HERE / "reference", HERE.parent)
