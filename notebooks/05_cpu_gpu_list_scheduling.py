# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 05 CPU+GPU list scheduling
#
# **Question.** A Cholesky factorisation runs on twelve cores and three GPUs. A GPU multiplies tiles
# thirty times as fast as a core, but its data have to be brought to it. What must a scheduler
# estimate to use both?

# %%
import matplotlib.pyplot as plt
import pandas as pd

import simsched

machine = simsched.machines.mirage
machine

# %% [markdown]
# The machine and all durations are measurements that StarPU ships for its simulator. Three of the
# twelve cores drive the GPUs and compute nothing under StarPU's schedulers. The program is 20 x 20
# tiles of 960 x 960 single-precision numbers, a graph of four kinds of tasks:

# %%
cholesky = simsched.workloads.cholesky(tiles=20, tile_size=960, element_bytes=4, costs="measured")
cholesky

# %% [markdown]
# ## Whoever is free
#
# `eager`: one queue, and every worker takes the first task that it can run.

# %%
result = simsched.run(
    machine,
    cholesky,
    ["eager", "dmdas", "heft"],
    jobs=1,
    metrics=["makespan_s", "migrated_bytes", "idle_percent"],
)
axes = result.plot.gantt("eager")
# %% [markdown]
# Mean durations of tasks, in milliseconds:

# %%
tasks = result.tasks("eager")
tasks["processor"] = ["GPU" if domain else "core" for domain in tasks.domain]
mean_ms = 1e3 * tasks.pivot_table(index="task_class", columns="processor", values="duration_s")
assert mean_ms.core["gemm"] > 25 * mean_ms.GPU["gemm"]
assert mean_ms.core["potrf"] < 4 * mean_ms.GPU["potrf"]
mean_ms.round(1)

# %% [markdown]
# A core that takes a `gemm` or `syrk` keeps it for as long as a GPU needs for thirty of them, and
# in the second half of the run the GPUs wait for cores. With `potrf` a core is not even four times
# as slow.
#
# ## Estimate, then place
#
# List schedulers go through tasks by urgency and give each to the worker that would finish it
# first, by estimates:
#
# * `dmdas` does so while the program runs. The estimate of a worker is: when it is done with what
#   it has, plus the copies that the task needs there, plus how long the task takes on it.
# * `heft` does so before the program runs, for the whole graph, and then keeps to that schedule.

# %%
result

# %%
makespan_s = result.table().set_index("policy").makespan_s
assert makespan_s["dmdas"] < makespan_s["heft"] < makespan_s["eager"]
_, axes = plt.subplots(2, figsize=(9, 8), layout="constrained")
result.plot.gantt("dmdas", ax=axes[0])
_ = result.plot.gantt("heft", ax=axes[1])
# %% [markdown]
# Both keep `gemm` on the GPUs. The share of the tasks of each kind that ran on GPUs, in percent:

# %%
on_gpu = {}
for policy in result.policies:
    tasks = result.tasks(policy)
    on_gpu[policy] = 100 * (tasks.domain > 0).groupby(tasks.task_class).mean()
on_gpu = pd.DataFrame(on_gpu)
assert on_gpu.dmdas["potrf"] < 50 < 95 < on_gpu.dmdas["gemm"]
on_gpu.round(0)

# %% [markdown]
# Why is the schedule that was made with more care worse? Gigabytes that are copied:

# %%
copied_gb = result.table().set_index("policy").migrated_bytes / 1e9
assert copied_gb["heft"] > 1.5 * copied_gb["dmdas"]
copied_gb.round(2)

# %% [markdown]
# Both let copies overlap with computing: a worker asks for the data of its next task when it begins
# one. But the estimates of a textbook schedule know the edges of the graph, not what a GPU still
# has from earlier tasks, nor that several copies share a link. `dmdas` sees where the data are when
# it decides, copies less, and waits less for what it copies.
#
# ## Do copies matter?
#
# `dm` is `dmda` without copies in its estimates; `dmdas` is `dmda` that serves urgent tasks first.
# On a second machine, `sirocco`, GPUs are four and several times as fast, while all copies share
# one link.

# %%
machines = {"mirage": machine, "sirocco": simsched.machines.sirocco}
copies = simsched.run(
    machines, cholesky, ["dm", "dmda", "dmdas"], jobs=1, metrics=["makespan_s", "migrated_bytes"]
)
copies

# %%
table = copies.table().set_index(["machine", "policy"])
moved, makespan_s = table.migrated_bytes, table.makespan_s
for name in machines:
    assert moved[name, "dmda"] < 0.8 * moved[name, "dm"]
assert 0.9 < makespan_s["mirage", "dmda"] / makespan_s["mirage", "dm"] < 1
assert makespan_s["sirocco", "dmda"] < 0.8 * makespan_s["sirocco", "dm"]

# %% [markdown]
# Counting copies saves a third of them and more on both machines. On mirage, where most of them
# hide behind computing, that saves little time; on sirocco it saves a third.
#
# **Answer.** How long each kind of task takes on each kind of processor, which is most of the gain;
# where the data are, if computing is fast compared with copying; and what is urgent. And estimates
# are worth more when they are made late.
#
# ## What to change next
#
# * `tiles=10` and `tiles=40`: with few tasks the critical path decides, with many the GPUs.
# * `"dmdar"`, `"heteroprio"`, `"ws"`, `"peft"`, `"min_min"`: other schedulers of StarPU and of
#   textbooks.
# * `simsched.workloads.lu(tiles=10, tile_size=960, element_bytes=4, costs="measured")`.
# * A machine of your own: `simsched import` reads the files in which StarPU keeps what it has
#   measured (`docs/importing-traces.md`).
#
# ## Sources
#
# StarPU 1.4: `src/sched_policies` (schedulers), its sampling directory and simulator (machines);
# `docs/starpu.md` compares makespans with those of StarPU's own simulator. H. Topcuoglu, S. Hariri,
# M.-Y. Wu, IEEE TPDS 13(3), 2002, section 4.1 (HEFT).
