// The engine's twin in memory, for tests and simulations: what one tells, the others hear after a while, unless they
// are cut off.
#pragma once

#include "async/event.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "mesh/hints/hints.h"

namespace corral::mesh {

class MemoryHints {
 public:
  // `timers` outlives the board, the board its engines. Words take `delay`.
  MemoryHints(async::Executor executor, async::Timers& timers, Millis delay = Millis(200));
  ~MemoryHints();

  std::unique_ptr<Hints> add(const NodeId& node);
  // The node hears nothing and is not heard, until it is healed; then all is told again.
  void cut(const NodeId& node);
  void heal(const NodeId& node);
  // As a stranger with the engine's shared key could: everybody hears it.
  void forge(Hint hint);

  struct Board;

 private:
  std::shared_ptr<Board> board_;
};

}  // namespace corral::mesh
