# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 06 MapReduce stragglers
#
# **Question.** A MapReduce job is done when its last task is done. If one computer is slow, its
# tasks are late and everybody waits. One can start a late task a second time elsewhere and take
# whichever ends first. Which tasks, where, and is it worth the work done twice?

# %%
import matplotlib.pyplot as plt

import simsched

cluster = simsched.machines.samr_cluster_slow
cluster

# %% [markdown]
# Eight nodes with four slots each: two for map and two for reduce tasks. Seven nodes are virtual
# machines on four computers; the two in domains 5 and 6 share a computer with another program,
# which leaves them a third of a processor. The memory nodes are disks.
#
# The job counts words in 4 GiB: 64 map tasks, 16 reduce tasks.

# %%
words = simsched.workloads.wordcount_4gb()
words

# %% [markdown]
# ## Nobody helps
#
# `hadoop_ns` is Hadoop without backup tasks.

# %%
result = simsched.run(
    cluster,
    "wordcount_4gb",
    ["hadoop_ns", "hadoop_default", "late", "samr"],
    seeds=3,
    jobs=1,
    metrics=["makespan_s", "duplicates", "wasted_s", "idle_percent"],
)
axes = result.plot.gantt("hadoop_ns")
# %%
tasks = result.tasks("hadoop_ns")
tasks["kind"] = tasks.task_class.str.split(".").str[-1]
maps = tasks[tasks.kind == "map"].groupby("domain").duration_s.mean()
last = tasks.loc[tasks.end_s.idxmax()]
print(f"the last task to end is a {last.kind} task in domain {last.domain}, at {last.end_s:.0f} s")
assert last.domain in (5, 6)
assert maps[[5, 6]].min() > 2.5 * maps.median()
maps.rename("mean duration of map tasks [s]").round(0)

# %% [markdown]
# The map tasks of the two slow nodes take three times as long as most others. Reduce tasks copy the
# output of every map task, so none of them can end before the last map task has ended.
#
# ## Start it twice
#
# When is a task late, and who may help? The three differ:
#
# * `hadoop_default`: a task that is after a minute a fifth behind the mean *progress* of the
#   running tasks of its kind.
# * `late`: among the tasks with the lowest *rate*, progress per second, the one with the longest
#   time to go; backups only on nodes that are not slow.
# * `samr`: as `late`, but each node remembers how long the phases of tasks have taken on it, so
#   that its estimates fit the node, and nodes are judged for map and for reduce tasks separately.
#
# `duplicates` counts backups, `wasted` the time that slots spent on executions that were not
# needed.

# %%
result

# %%
mean = result.runs.groupby("policy")[["makespan_s", "duplicates", "wasted_s"]].mean()
assert mean.makespan_s["hadoop_ns"] > 1.1 * mean.makespan_s["hadoop_default"]
assert mean.makespan_s["hadoop_default"] > mean.makespan_s[["late", "samr"]].max()
assert abs(mean.makespan_s["samr"] / mean.makespan_s["late"] - 1) < 0.03
assert mean.duplicates["samr"] < 0.7 * mean.duplicates["late"]
assert mean.wasted_s["samr"] < mean.wasted_s["late"]
axes = result.plot.speedup()

# %% [markdown]
# ## Which backups were worth it
#
# Tasks of one run that were started twice, in which domain, when, and when they would have ended
# without: the run of `hadoop_ns` with the same seed is the same until somebody helps.

# %%
without = result.tasks("hadoop_ns").groupby("task").end_s.max()


def backups(policy):
    """Return the tasks of a run that were started twice, and which execution ended first."""
    tasks = result.tasks(policy)
    tasks["kind"] = tasks.task_class.str.split(".").str[-1]
    starts = tasks[tasks.begins].sort_values("start_s").groupby("task")
    first, second = starts.nth(0).set_index("task"), starts.nth(1).set_index("task")
    both = first.loc[second.index]
    return both.assign(
        backup_in=second.domain, backup_start_s=second.start_s, backup_won=second.ends
    ).join(without.rename("end_without_s"))[
        ["kind", "domain", "backup_in", "backup_start_s", "backup_won", "end_s", "end_without_s"]
    ]


late, samr = backups("late"), backups("samr")
late.round(0)

# %%
won = late[late.backup_won]
assert set(won.domain) <= {5, 6}
assert (won.end_without_s - won.end_s)[won.kind == "map"].min() > 120
assert (won.kind == "reduce").sum() > 1
assert set(samr.kind) == {"map"}
assert samr.backup_won.mean() > late.backup_won.mean()
samr.round(0)

# %% [markdown]
# Backups of tasks of the two slow nodes won, and by minutes: of map tasks, and of reduce tasks,
# whose function is still to do when the last output has been copied. Those lost that began when a
# task had nearly finished; so did that of a map task on a fast node. `late` starts both kinds,
# `samr` backups of map tasks only.
#
# The same job without backups and under `samr`:

# %%
_, axes = plt.subplots(2, figsize=(9, 8), layout="constrained")
for ax, policy in zip(axes, ["hadoop_ns", "samr"], strict=True):
    result.plot.gantt(policy, ax=ax)
    ax.set_xlim(0, 3600)

# %% [markdown]
# **Answer.** Tasks of slow nodes, on nodes that are fast at that kind, as soon as their rate is
# known. Slots that would be idle anyway cost nothing; a backup that is bound to lose does.
#
# ## What to change next
#
# * `"sort_4gb"`: the disks are the limit, not the processors. How much do backups help then?
# * `"wordcount_4gb[iterations=3]"`: the job three times in a row. What does the memory of `samr`
#   add? (`result.iterations`)
# * `simsched.machines.samr_cluster_fast`: the same cluster when the other program is gone.
# * `simsched.sweep("samr", task_cap=[0.1, 0.3, 0.5])`: how slow is slow?
#
# ## Sources
#
# Q. Chen, M. Guo, *Task Scheduling for Multi-core and Parallel Architectures*, Springer 2017,
# chapter 7: sections 7.2.3 and 7.2.4 (Hadoop, LATE), sections 7.3 and 7.4 (SAMR), section 7.5 with
# table 7.1 and figure 7.6 (cluster, programs). M. Zaharia et al., *Improving MapReduce performance
# in heterogeneous environments*, OSDI 2008.
