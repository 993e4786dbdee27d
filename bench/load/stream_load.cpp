// corral-stream-load JOB.json: sends the requests of a job, reads their streamed answers, prints one JSON object with
// what arrived when. The load generator of the engine benchmarks, for every server alike: it must cost so little that
// the compute threads it shares the machine with don't notice.
#include <cstdio>
#include <fstream>
#include <iterator>

#include "job.h"
#include "runner.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: corral-stream-load JOB.json\n", stderr);
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto job = corral::bench::parse_job(text);
  if (!file || !job) {
    std::fprintf(stderr, "%s: %s\n", argv[1], job ? "can't be read" : job.error().message.c_str());
    return 2;
  }
  corral::bench::Runner runner(*job);
  const auto outcomes = runner.run();
  std::puts(corral::bench::to_json(outcomes, runner.cost()).c_str());
  return 0;
}
