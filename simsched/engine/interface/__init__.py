"""The one description of what policies' plans and models hand to engines, and engines hand back.

`tools/interface.py` writes from it what C and the binding of the kernel have to repeat.
"""
