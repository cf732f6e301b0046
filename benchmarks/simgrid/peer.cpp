// The benchmark workloads for SimGrid's S4U interface, written for speed: no actors, one activity per running task,
// decisions in the signal of completed activities.
//
//   peer independent P N | local_flows P N | remote_flows P N | stencil P STEPS | cholesky P TILES
//
// prints {"tasks": ..., "makespan_s": ..., "cpu_s": ..., "peak_rss_bytes": ...}. CPU seconds cover platform and
// simulation, not the building of the task graph, which is the program's own.

#include <simgrid/s4u.hpp>

#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace {

constexpr int CONTROLLERS = 8;

// xorshift; numbers in [0, 1).
class Numbers {
    std::uint64_t x_ = UINT64_C(88172645463325252);

public:
    double next()
    {
        x_ ^= x_ << 13;
        x_ ^= x_ >> 7;
        x_ ^= x_ << 17;
        return static_cast<double>(x_ >> 11) * 0x1p-53;
    }
};

double cpu_seconds()
{
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// Workers with their running activities. A finished one is kept until the worker's next one has finished, because its
// signal is still being handled when the next one starts.
class Workers {
    std::vector<sg4::ActivityPtr> running_, finished_;

public:
    explicit Workers(int n) : running_(n), finished_(n) {}

    template <class Activity> void hold(int worker, const Activity& activity)
    {
        activity->set_data(reinterpret_cast<void*>(static_cast<std::intptr_t>(worker)));
        finished_[worker] = std::exchange(running_[worker], activity);
    }

    void compute(int worker, sg4::Host* core, double operations)
    {
        auto exec = sg4::Exec::init()->set_flops_amount(operations)->set_host(core);
        hold(worker, exec);
        exec->vetoable_start();
    }

    static int of(const sg4::Activity& activity)
    {
        return static_cast<int>(reinterpret_cast<std::intptr_t>(activity.get_data<void>()));
    }
};

// A workload: what runs at first and what a worker does when it has finished something.
class Program {
public:
    virtual ~Program() = default;
    virtual void begin() = 0;
    virtual void finished(int worker) = 0;
    virtual long tasks() const = 0;
};

std::vector<sg4::Host*> make_cores(int workers)
{
    auto* zone = sg4::create_empty_zone("machine");
    std::vector<sg4::Host*> cores;
    for (int worker = 0; worker < workers; worker++)
        cores.push_back(zone->create_host("core" + std::to_string(worker), 1e9));
    zone->seal();
    return cores;
}

class Independent : public Program {
    Numbers numbers_;
    std::vector<sg4::Host*> cores_;
    Workers workers_;
    long issued_ = 0, n_;

    void issue(int worker)
    {
        issued_++;
        workers_.compute(worker, cores_[worker], (0.5 + numbers_.next()) * 1e6);
    }

public:
    Independent(int workers, long n) : cores_(make_cores(workers)), workers_(workers), n_(n) {}

    void begin() override
    {
        for (std::size_t worker = 0; worker < cores_.size() && issued_ < n_; worker++)
            issue(static_cast<int>(worker));
    }

    void finished(int worker) override
    {
        if (issued_ < n_)
            issue(worker);
    }

    long tasks() const override { return n_; }
};

// Controllers are hosts that share their speed among bounded executions: faster here than communications.
class LocalFlows : public Program {
    Numbers numbers_;
    std::vector<sg4::Host*> controllers_;
    Workers workers_;
    int n_workers_;
    long issued_ = 0, n_;

    void issue(int worker)
    {
        issued_++;
        auto flow = sg4::Exec::init()->set_flops_amount((0.5 + numbers_.next()) * 1e6)->set_bound(12e9);
        workers_.hold(worker, flow);
        flow->set_host(controllers_[worker % CONTROLLERS])->vetoable_start();
    }

public:
    LocalFlows(int workers, long n) : workers_(workers), n_workers_(workers), n_(n)
    {
        auto* zone = sg4::create_empty_zone("machine");
        for (int i = 0; i < CONTROLLERS; i++)
            controllers_.push_back(zone->create_host("memory" + std::to_string(i), 90e9));
        zone->seal();
    }

    void begin() override
    {
        for (int worker = 0; worker < n_workers_ && issued_ < n_; worker++)
            issue(worker);
    }

    void finished(int worker) override
    {
        if (issued_ < n_)
            issue(worker);
    }

    long tasks() const override { return n_; }
};

// Controllers are links; a flow is a communication from the host of its worker's domain to that of a controller.
class RemoteFlows : public Program {
    Numbers numbers_;
    std::vector<sg4::Host*> domains_, controllers_;
    Workers workers_;
    int n_workers_;
    long issued_ = 0, n_;

    void issue(int worker)
    {
        issued_++;
        const int own = worker % CONTROLLERS;
        int controller = own;
        if (numbers_.next() < 0.3)
            controller = static_cast<int>(numbers_.next() * CONTROLLERS);
        auto flow = sg4::Comm::sendto_init();
        flow->set_payload_size(static_cast<std::uint64_t>((0.5 + numbers_.next()) * 1e6));
        workers_.hold(worker, flow);
        flow->set_source(domains_[own])->set_destination(controllers_[controller]); // starts it
    }

public:
    RemoteFlows(int workers, long n) : workers_(workers), n_workers_(workers), n_(n)
    {
        auto* zone = sg4::create_full_zone("machine");
        auto* crossbar = zone->create_link("crossbar", 360e9);
        std::vector<sg4::Link*> links;
        for (int i = 0; i < CONTROLLERS; i++) {
            domains_.push_back(zone->create_host("domain" + std::to_string(i), 1e9));
            controllers_.push_back(zone->create_host("controller" + std::to_string(i), 1e9));
            links.push_back(zone->create_link("memory" + std::to_string(i), 90e9));
        }
        for (int from = 0; from < CONTROLLERS; from++)
            for (int to = 0; to < CONTROLLERS; to++) {
                std::vector<sg4::LinkInRoute> route = {sg4::LinkInRoute(links[to])};
                if (from != to)
                    route.emplace_back(crossbar);
                zone->add_route(domains_[from]->get_netpoint(), controllers_[to]->get_netpoint(), nullptr, nullptr,
                                route, false);
            }
        zone->seal();
    }

    void begin() override
    {
        for (int worker = 0; worker < n_workers_ && issued_ < n_; worker++)
            issue(worker);
    }

    void finished(int worker) override
    {
        if (issued_ < n_)
            issue(worker);
    }

    long tasks() const override { return n_; }
};

struct Graph {
    std::vector<double> cost;
    std::vector<int> pending;
    std::vector<std::size_t> begin;
    std::vector<int> successor;

    // Takes edges over in the order of their creation.
    void connect(const std::vector<std::pair<int, int>>& edges)
    {
        begin.assign(cost.size() + 1, 0);
        pending.assign(cost.size(), 0);
        successor.resize(edges.size());
        for (const auto& [from, to] : edges) {
            begin[from + 1]++;
            pending[to]++;
        }
        for (std::size_t task = 0; task < cost.size(); task++)
            begin[task + 1] += begin[task];
        std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
        for (const auto& [from, to] : edges)
            successor[next[from]++] = to;
    }
};

Graph make_stencil(int steps)
{
    constexpr int WIDTH = 64;
    constexpr int OFFSETS[][2] = {{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    Numbers numbers;
    Graph graph;
    std::vector<std::pair<int, int>> edges;
    for (int t = 0; t < steps; t++)
        for (int i = 0; i < WIDTH; i++)
            for (int j = 0; j < WIDTH; j++) {
                int task = static_cast<int>(graph.cost.size());
                graph.cost.push_back((0.5 + numbers.next()) * 1e6);
                for (const auto& [down, right] : OFFSETS) {
                    int row = i + down, column = j + right;
                    if (t > 0 && row >= 0 && row < WIDTH && column >= 0 && column < WIDTH)
                        edges.emplace_back((t - 1) * WIDTH * WIDTH + row * WIDTH + column, task);
                }
            }
    graph.connect(edges);
    return graph;
}

Graph make_cholesky(int tiles)
{
    Numbers numbers;
    Graph graph;
    std::vector<std::pair<int, int>> edges;
    std::vector<int> writer(static_cast<std::size_t>(tiles) * tiles, -1);
    auto last = [&](int i, int j) -> int& { return writer[static_cast<std::size_t>(i) * tiles + j]; };
    auto after = [&](int task, int before) {
        if (before >= 0)
            edges.emplace_back(before, task);
    };
    auto create = [&](double cost) {
        graph.cost.push_back(cost);
        return static_cast<int>(graph.cost.size()) - 1;
    };
    for (int k = 0; k < tiles; k++) {
        int potrf = create(1e6 * (0.9 + 0.2 * numbers.next()) / 3);
        after(potrf, last(k, k));
        last(k, k) = potrf;
        for (int i = k + 1; i < tiles; i++) {
            int trsm = create(1e6 * (0.9 + 0.2 * numbers.next()));
            after(trsm, potrf);
            after(trsm, last(i, k));
            last(i, k) = trsm;
        }
        for (int i = k + 1; i < tiles; i++)
            for (int j = k + 1; j <= i; j++) {
                int update = create((i == j ? 1e6 : 2e6) * (0.9 + 0.2 * numbers.next()));
                after(update, last(i, k));
                if (i != j)
                    after(update, last(j, k));
                after(update, last(i, j));
                last(i, j) = update;
            }
    }
    graph.connect(edges);
    return graph;
}

// List scheduling: ready tasks in one FIFO, idle workers on a stack with worker 0 on top at first.
class ListScheduling : public Program {
    Graph graph_;
    std::vector<sg4::Host*> cores_;
    Workers workers_;
    std::vector<int> task_of_, idle_;
    std::deque<int> ready_;

    void start(int worker, int task)
    {
        task_of_[worker] = task;
        workers_.compute(worker, cores_[worker], graph_.cost[task]);
    }

    void release(int task)
    {
        if (idle_.empty()) {
            ready_.push_back(task);
            return;
        }
        int worker = idle_.back();
        idle_.pop_back();
        start(worker, task);
    }

public:
    ListScheduling(int workers, Graph graph)
        : graph_(std::move(graph)), cores_(make_cores(workers)), workers_(workers), task_of_(workers)
    {
        for (int worker = workers - 1; worker >= 0; worker--)
            idle_.push_back(worker);
    }

    void begin() override
    {
        std::vector<int> first;
        for (std::size_t task = 0; task < graph_.cost.size(); task++)
            if (graph_.pending[task] == 0)
                first.push_back(static_cast<int>(task));
        for (int task : first)
            release(task);
    }

    void finished(int worker) override
    {
        int task = task_of_[worker];
        if (ready_.empty()) {
            idle_.push_back(worker);
        } else {
            start(worker, ready_.front());
            ready_.pop_front();
        }
        for (std::size_t edge = graph_.begin[task]; edge < graph_.begin[task + 1]; edge++)
            if (--graph_.pending[graph_.successor[edge]] == 0)
                release(graph_.successor[edge]);
    }

    long tasks() const override { return static_cast<long>(graph_.cost.size()); }
};

std::unique_ptr<Program> make_program(const std::string& name, int workers, long size, Graph graph)
{
    if (name == "independent")
        return std::make_unique<Independent>(workers, size);
    if (name == "local_flows")
        return std::make_unique<LocalFlows>(workers, size);
    if (name == "remote_flows")
        return std::make_unique<RemoteFlows>(workers, size);
    return std::make_unique<ListScheduling>(workers, std::move(graph));
}

} // namespace

int main(int argc, char** argv)
{
    sg4::Engine engine(&argc, argv);
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s CASE WORKERS SIZE\n", argv[0]);
        return 2;
    }
    const std::string name = argv[1];
    const int workers = std::atoi(argv[2]);
    const long size = std::atol(argv[3]);
    Graph graph;
    if (name == "stencil")
        graph = make_stencil(static_cast<int>(size));
    else if (name == "cholesky")
        graph = make_cholesky(static_cast<int>(size));
    const double begin = cpu_seconds();
    auto program = make_program(name, workers, size, std::move(graph));
    long ended = 0;
    double makespan = 0.0;
    sg4::Activity::on_completion_cb([&](const sg4::Activity& activity) {
        ended++;
        makespan = sg4::Engine::get_clock();
        program->finished(Workers::of(activity));
    });
    program->begin();
    engine.run();
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    std::printf("{\"tasks\": %ld, \"makespan_s\": %.12g, \"cpu_s\": %.6f, \"peak_rss_bytes\": %ld}\n", ended, makespan,
                cpu_seconds() - begin, usage.ru_maxrss * 1024L);
    return ended == program->tasks() ? 0 : 1;
}
