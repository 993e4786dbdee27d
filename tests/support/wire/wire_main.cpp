// Machines of a network on one machine, for tests of the mesh; needs root. tests/support/netns.mjs and
// bench/harness/lab.py drive it.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "gate.h"
#include "namespaces.h"
#include "net.h"

namespace {

using namespace corral::wire;

constexpr const char* kUsage = R"(corral-wire net wire|bridge
    Makes nodes and carries packets between them until standard input ends. Commands there, one answer each ("ok ..."
    or "error ..."):
      node NAME ADDRESS/BITS      a namespace with that address; answers its path
      path FROM TO KEY=VALUE...   faults one way ("*": all): delay, jitter, late_ms (ms), loss, late (%), rate (Mbit/s),
                                  cut, dials (0 or 1); of a wire only
      clear FROM TO               no faults
      stats FROM TO               what became of its packets
      seed N                      of the random choices
corral-wire enter NAMESPACE PROGRAM ARGUMENT...
    Becomes the program, in there. It is killed when who started it ends.
corral-wire gate NAMESPACE PORT
    Prints "gate N": connections to 127.0.0.1:N out here go on to 127.0.0.1:PORT in there.
corral-wire check
    Whether all this can be done here.
)";

int check() {
  Net net(Net::Medium::wire);
  const Descriptor space = make_namespace();
  const Inside inside(space.get());
  const Descriptor device = make_tun("eth0");
  run_ip({"link set lo up", "addr add 10.0.0.1/24 dev eth0", "link set eth0 up"});
  return 0;
}

int enter(char** words) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const Descriptor space = open_namespace(words[0]);
  if (::setns(space.get(), CLONE_NEWNET) != 0) throw std::runtime_error(std::strerror(errno));
  ::signal(SIGPIPE, SIG_DFL);
  ::execvp(words[1], words + 1);
  throw std::runtime_error(std::string(words[1]) + ": " + std::strerror(errno));
}

int run(int count, char** words) {
  const std::string_view command = count > 1 ? words[1] : "";
  const std::string_view medium = count > 2 ? words[2] : "";
  ::signal(SIGPIPE, SIG_IGN);
  if (command == "check") return check();
  if (command == "enter" && count > 3) return enter(words + 2);
  if (command == "gate" && count == 4) {
    const Descriptor space = open_namespace(words[2]);
    run_gate(space.get(), static_cast<std::uint16_t>(std::stoi(words[3])));
    return 0;
  }
  if (command == "net" && (medium == "wire" || medium == "bridge")) {
    Net(medium == "wire" ? Net::Medium::wire : Net::Medium::bridge).run(STDIN_FILENO, STDOUT_FILENO);
    return 0;
  }
  std::fputs(kUsage, stderr);
  return 2;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "corral-wire: %s\n", error.what());
    return 1;
  }
}
