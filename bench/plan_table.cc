// Tables about the memory planners, for bench/README.md:
//
//   plan_table instances FILE.csv…     each file, with the heuristics and with the exact search until it is proven
//   plan_table planted [SECONDS [PIECES SLACK]]
//                                      how many problems with a known answer are solved in that time (5); of all sizes
//                                      and slacks, or of one size and one slack in %
//   plan_table growth [PLOT.svg]       a thousand to a million buffers: time and height; drawn as a plot
//   plan_table orders [SEEDS]          RandWire's stages of 32 nodes: time until the best schedule is proven (100)
//
// Milliseconds are processor time of this thread; for short runs, the minimum of several.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "compiler/memory/packing/csv.h"
#include "compiler/memory/packing/generators.h"
#include "compiler/memory/packing/plan_best.h"
#include "compiler/memory/packing/validate.h"
#include "compiler/memory/scheduling/generators.h"
#include "compiler/memory/scheduling/schedule.h"

namespace berth::packing {
namespace {

double processor_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The minimum of several runs, or a single run if it takes long.
double milliseconds(const std::function<void()>& run) {
  double least = 1e30;
  double sum = 0;
  for (int i = 0; i < 5 && sum < 300; ++i) {
    const double start = processor_seconds();
    run();
    const double mine = 1e3 * (processor_seconds() - start);
    least = std::min(least, mine);
    sum += mine;
  }
  return least;
}

struct Measured {
  SpaceUse use;
  double ms = 0;
};

Measured measure(const Problem& problem, const PlanOptions& options) {
  Measured measured;
  measured.ms = milliseconds([&] {
    const Expected<Plan> plan = plan_best(problem, options);
    if (!plan.ok() || !validate(problem, *plan).ok()) {
      std::fprintf(stderr, "%s\n", plan.ok() ? "an invalid plan" : plan.error().text().c_str());
      std::exit(1);
    }
    measured.use = plan->spaces[0];
  });
  return measured;
}

double gap_percent(const SpaceUse& use) {
  return 100.0 * static_cast<double>(use.height - use.lower_bound) / static_cast<double>(use.lower_bound);
}

int table_of_instances(int count, char** files) {
  double sum = 0;
  std::printf("| problem | buffers | bound | heuristics | ms | over %% | everything | ms | over %% | proven |\n");
  std::printf("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n");
  for (int i = 0; i < count; ++i) {
    std::ifstream file(files[i]);
    std::stringstream text;
    text << file.rdbuf();
    const Expected<CsvProblem> csv = read_csv(text.str());
    if (!csv.ok()) {
      std::fprintf(stderr, "%s: %s\n", files[i], csv.error().text().c_str());
      return 1;
    }
    PlanOptions options;
    options.planner = Planner::kHeuristic;
    const Measured quick = measure(csv->problem, options);
    options.planner = Planner::kBest;
    options.nodes = 200'000;
    const Measured best = measure(csv->problem, options);
    const std::string name = std::string(files[i]).substr(std::string(files[i]).rfind('/') + 1);
    std::printf("| %s | %zu | %lld | %lld | %.2f | %.3f | %lld | %.2f | %.3f | %s |\n", name.c_str(),
                csv->problem.buffers.size(), static_cast<long long>(best.use.lower_bound),
                static_cast<long long>(quick.use.height), quick.ms, gap_percent(quick.use),
                static_cast<long long>(best.use.height), best.ms, gap_percent(best.use),
                best.use.optimal() ? "yes" : "no");
    std::fflush(stdout);
    sum += std::log(static_cast<double>(quick.use.height) / static_cast<double>(best.use.height));
  }
  std::printf("\nheuristics over everything, geometric mean: %.4f\n", std::exp(sum / std::max(count, 1)));
  return 0;
}

void row_of_planted(double seconds, int32_t pieces, int32_t slack) {
  int solved = 0;
  double ms = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Planted planted = planted_problem(seed, pieces, slack);
    planted.problem.spaces[0].capacity = planted.height;
    PlanOptions options;
    options.nodes = kManyNodes;
    options.time_limit = seconds;
    options.stop_at_capacity = true;
    const double start = processor_seconds();
    const bool fits = plan_best(planted.problem, options).ok();
    solved += fits ? 1 : 0;
    ms += fits ? 1e3 * (processor_seconds() - start) : 0;
  }
  std::printf("| %d | %d | 10 | %d | %.1f |\n", pieces, slack, solved, solved > 0 ? ms / solved : 0.0);
  std::fflush(stdout);
}

int table_of_planted(int count, char** arguments) {
  const double seconds = count > 0 ? std::strtod(arguments[0], nullptr) : 5.0;
  std::printf("| pieces | slack %% | of | solved | mean ms of these |\n| ---: | ---: | ---: | ---: | ---: |\n");
  if (count > 2) {
    row_of_planted(seconds, std::atoi(arguments[1]), std::atoi(arguments[2]));
    return 0;
  }
  for (const int32_t pieces : {40, 80, 160, 320}) {
    for (const int32_t slack : {0, 1, 2, 5}) row_of_planted(seconds, pieces, slack);
  }
  return 0;
}

/// One line of the plot.
struct Curve {
  const char* name;
  const char* colour;
  std::vector<double> ms;
};

/// Both axes logarithmic; `sizes` are decades.
void draw(const std::string& path, const std::vector<int32_t>& sizes, const std::vector<Curve>& curves) {
  constexpr double kLeft = 70, kTop = 20, kWidth = 480, kHeight = 320, kLeast = 0.1, kMost = 10'000;
  const auto x = [&](double n) {
    return kLeft + kWidth * std::log(n / sizes.front()) / std::log(static_cast<double>(sizes.back()) / sizes.front());
  };
  const auto y = [&](double ms) {
    return kTop + kHeight * (1 - std::log(std::max(ms, kLeast) / kLeast) / std::log(kMost / kLeast));
  };
  std::ofstream svg(path);
  svg << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"400\" font-family=\"sans-serif\" "
         "font-size=\"12\">\n<rect width=\"720\" height=\"400\" fill=\"white\"/>\n";
  for (double ms = kLeast; ms <= kMost * 1.01; ms *= 10) {
    svg << "<path d=\"M" << kLeft << ' ' << y(ms) << "h" << kWidth << "\" stroke=\"#ddd\"/>\n<text x=\"" << kLeft - 8
        << "\" y=\"" << y(ms) + 4 << "\" text-anchor=\"end\">" << ms << " ms</text>\n";
  }
  for (const int32_t n : sizes) {
    svg << "<text x=\"" << x(n) << "\" y=\"" << kTop + kHeight + 20 << "\" text-anchor=\"middle\">" << n << "</text>\n";
  }
  svg << "<text x=\"" << kLeft + kWidth / 2 << "\" y=\"" << kTop + kHeight + 42
      << "\" text-anchor=\"middle\">buffers</text>\n";
  for (const Curve& curve : curves) {
    svg << "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"" << curve.colour << "\" points=\"";
    for (size_t i = 0; i < sizes.size(); ++i) svg << x(sizes[i]) << ',' << y(curve.ms[i]) << ' ';
    svg << "\"/>\n<text x=\"" << kLeft + kWidth + 8 << "\" y=\"" << y(curve.ms.back()) + 4 << "\" fill=\""
        << curve.colour << "\">" << curve.name << "</text>\n";
  }
  svg << "</svg>\n";
}

int table_of_growth(const std::string& plot) {
  const std::vector<int32_t> sizes = {1000, 10'000, 100'000, 1'000'000};
  std::vector<Curve> curves = {
      {"everything", "#b03060", {}}, {"first plan", "#2060b0", {}}, {"validator", "#208040", {}}};
  std::printf("| buffers | first plan ms | validator ms | everything ms | over the bound %% |\n");
  std::printf("| ---: | ---: | ---: | ---: | ---: |\n");
  for (const int32_t size : sizes) {
    double first = 0, judge = 0, all = 0, gap = 0;  // the worst of the seeds
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const Problem problem = long_problem(seed, size);
      PlanOptions options;
      options.planner = Planner::kBestFit;
      const Expected<Plan> plan = plan_best(problem, options);
      first = std::max(first, milliseconds([&] { (void)plan_best(problem, options); }));
      judge = std::max(judge, milliseconds([&] { (void)validate(problem, *plan); }));
      const Measured best = measure(problem, PlanOptions{});
      all = std::max(all, best.ms);
      gap = std::max(gap, gap_percent(best.use));
    }
    std::printf("| %d | %.2f | %.2f | %.1f | %.3f |\n", size, first, judge, all, gap);
    std::fflush(stdout);
    curves[0].ms.push_back(all);
    curves[1].ms.push_back(first);
    curves[2].ms.push_back(judge);
  }
  if (!plot.empty()) draw(plot, sizes, curves);
  return 0;
}

int table_of_orders(uint64_t seeds) {
  std::printf("| sizes | stages | proven | mean ms | most ms | most states | mean peak of the given order |\n");
  std::printf("| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const bool mixed : {false, true}) {
    uint64_t proven = 0;
    int64_t states = 0;
    double sum = 0, most = 0, given = 0;
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      const scheduling::Problem problem = scheduling::wired_stage(seed, 32, mixed);
      scheduling::Schedule schedule;
      const double ms = milliseconds([&] { schedule = std::move(scheduling::best_schedule(problem)).value(); });
      sum += ms;
      most = std::max(most, ms);
      proven += schedule.optimal() ? 1 : 0;
      states = std::max(states, schedule.states);
      given += static_cast<double>(schedule.given_peak) / static_cast<double>(schedule.peak);
    }
    const double stages = static_cast<double>(std::max<uint64_t>(seeds, 1));
    std::printf("| %s | %llu | %llu | %.2f | %.2f | %lld | %.2f x |\n", mixed ? "mixed" : "equal",
                static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(proven), sum / stages, most,
                static_cast<long long>(states), given / stages);
  }
  return 0;
}

int run(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  if (what == "instances") return table_of_instances(count - 2, arguments + 2);
  if (what == "planted") return table_of_planted(count - 2, arguments + 2);
  if (what == "growth") return table_of_growth(count > 2 ? arguments[2] : "");
  if (what == "orders") return table_of_orders(count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 100);
  std::fprintf(
      stderr,
      "plan_table instances FILE.csv… | planted [SECONDS [PIECES SLACK]] | growth [PLOT.svg] | orders [SEEDS]\n");
  return 2;
}

}  // namespace
}  // namespace berth::packing

int main(int count, char** arguments) { return berth::packing::run(count, arguments); }
