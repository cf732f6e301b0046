# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 04 Asymmetric cores
#
# **Question.** Some cores of a processor are fast, some are slow, and all run the same programs.
# Random stealing keeps every core busy as long as there are tasks. Why is that not enough, and what
# must a scheduler know?

# %%
import matplotlib.pyplot as plt

import simsched

# %% [markdown]
# ## Four tasks are enough
#
# One core is fast, three are half as fast. Four independent tasks take 9, 4, 3 and 2 ms on the fast
# core. The experiment `aats_fig5_1` runs them under five policies; we look at three of them.

# %%
small = simsched.run("aats_fig5_1", set={"seeds": 3}, output="results/aats_fig5_1", jobs=1)
shown = {
    "cilk_bad_allocation": "whoever comes first: the longest task is on a slow core",
    "rts_known_victim": "the same, but the fast core snatches that task when it has nothing to do",
    "ideal_amc": "who knows all durations beforehand",
}
_, axes = plt.subplots(3, figsize=(9, 6), layout="constrained")
for ax, (policy, title) in zip(axes, shown.items(), strict=True):
    small.plot.gantt(policy, ax=ax)
    ax.set_title(title, fontsize=10, loc="left")
    ax.set_xlim(0, 18)

# %%
makespan_ms = small.runs.groupby("policy").makespan_s.mean()[list(shown)] * 1e3
assert makespan_ms["cilk_bad_allocation"] == 2 * makespan_ms["ideal_amc"]
assert (
    makespan_ms["ideal_amc"] < makespan_ms["rts_known_victim"] < makespan_ms["cilk_bad_allocation"]
)
makespan_ms.rename("makespan [ms]")

# %% [markdown]
# Each row is a thread; when a task is snatched, two threads swap their cores, so thread 1 ends its
# task on the fast core. All cores had something to do, and still it takes twice as long as it
# could: a core that has run out of tasks can only steal tasks that nobody has begun. *Snatching*
# moves a running task, which helps, but late and at a price. Best is not to begin a long task on a
# slow core; for that one must know which tasks are long.
#
# ## A real size
#
# A server whose sixteen cores run at four clocks, four cores each, and batches of 144 tasks of five
# functions, as of MD5 over many messages. Before a batch nobody knows how long its tasks take, but
# the functions come again in every batch.

# %%
server = simsched.machines.a_4_4_4_4
md5 = simsched.workloads.md5()
tasks = {
    name: f"{(md5.graph.task_class == index).sum()} tasks of {ops / 1e6:.1f} million operations"
    for index, name in enumerate(md5.graph.class_names)
    if (ops := md5.graph.ops[0, md5.graph.task_class == index].mean())
}
tasks

# %% [markdown]
# * `cilk_a`: random stealing.
# * `rts`: the same, and fast cores that find nothing to steal snatch a running task from a slower
#   core.
# * `aats`: remembers what tasks of each function have cost, and from the second batch on gives each
#   function to the group of cores that makes all groups end at the same time; groups that are done
#   early help the others.
# * `ideal_amc`: knows everything beforehand. No real scheduler; it tells how far the others could
#   get.

# %%
result = simsched.run(
    server,
    md5,
    ["cilk_a", "rts", "aats", "ideal_amc"],
    seeds=3,
    jobs=1,
    metrics=["makespan_s", "exchanges", "idle_percent", "makespan_over_bound"],
)
result

# %%
makespan_s = result.runs.groupby("policy").makespan_s.mean()
assert makespan_s["ideal_amc"] < makespan_s["aats"] < makespan_s["rts"] < makespan_s["cilk_a"]
axes = result.plot.speedup()
# %% [markdown]
# ## It learns
#
# The lengths of the twelve batches. In the first one AATS knows nothing and is no better than
# random stealing; from the second one on its batches are all alike.

# %%
batches_ms = 1e3 * result.iterations.pivot_table(
    index="iteration", columns="policy", values="duration_s"
)
axes = batches_ms.plot(figsize=(9, 3.5), marker="o", ylabel="length [ms]", ylim=(0, 45))
_ = axes.legend(ncols=4, loc="upper right")

# %%
aats_ms = batches_ms["aats"]
assert aats_ms[1] > 1.3 * aats_ms[2]
assert aats_ms[2:].max() < batches_ms["rts"][2:].min()

# %% [markdown]
# The tenth batch under both; the cores of domain 0 are the fastest, those of domain 3 the slowest.
# Random stealing ends with some of the longest tasks (`f0`) on slow cores while the others wait.
# AATS keeps those on the fast cores, and all groups end at nearly the same time.

# %%
_, axes = plt.subplots(2, figsize=(9, 7), layout="constrained")
result.plot.gantt("cilk_a", ax=axes[0], iterations=10)
_ = result.plot.gantt("aats", ax=axes[1], iterations=10)

# %% [markdown]
# **Answer.** A scheduler must know which tasks are long before it starts them. For programs that
# come back to the same functions a short memory is enough: one batch, one number per function and
# kind of core.
#
# ## What to change next
#
# * `simsched.machines.a_2_0_0_14`: two fast cores among fourteen slow ones. Who wins now?
# * `simsched.machines.a_16_0_0_0`: all alike. What does knowing cost where there is nothing to
#   know?
# * `simsched.workloads.ga_islands()`: most tasks are alike, a few much longer. Compare with
#   `aats_ts`, which also snatches.
# * `aats_np`: groups do not help each other.
#
# ## Sources
#
# Q. Chen, M. Guo, *Task Scheduling for Multi-core and Parallel Architectures*, Springer 2017,
# chapter 5: section 5.1 and figures 5.1 and 5.3 (four tasks), sections 5.4 to 5.9 (AATS), figure
# 5.11 (server, programs); *Adaptive workload-aware task scheduling for single-ISA asymmetric
# multicore architectures*, ACM TACO 11(1), 2014.
