"""Pictures of results, one module each; none needs a display."""

import matplotlib as mpl

from simsched.report.plots.bandwidth import bandwidth
from simsched.report.plots.common import COLOURS, save
from simsched.report.plots.comparison import makespan, plot_comparison
from simsched.report.plots.gantt import gantt
from simsched.report.plots.iterations import plot_bandwidth, plot_bandwidth_over_time
from simsched.report.plots.links import links
from simsched.report.plots.locality import locality
from simsched.report.plots.matrix import draw_matrix, matrix
from simsched.report.plots.speedup import speedup
from simsched.report.plots.waterfall import draw_differences, waterfall, waterfalls

#: Fonts are embedded as TrueType: publishers refuse Matplotlib's default, Type 3.
mpl.rcParams["pdf.fonttype"] = mpl.rcParams["ps.fonttype"] = 42

__all__ = [
    "COLOURS",
    "bandwidth",
    "draw_differences",
    "draw_matrix",
    "gantt",
    "links",
    "locality",
    "makespan",
    "matrix",
    "plot_bandwidth",
    "plot_bandwidth_over_time",
    "plot_comparison",
    "save",
    "speedup",
    "waterfall",
    "waterfalls",
]
