#include "mesh/hints/memory_hints.h"

#include <map>
#include <set>

#include "mesh/hints/hint_news.h"

namespace corral::mesh {

struct MemoryHints::Board {
  class Engine;

  Board(async::Executor on, async::Timers& clock, Millis takes)
      : executor(on), timers(clock), delay(takes), words(executor) {}

  void spread(Hint hint) { words.spawn("hints", arrive(std::move(hint))); }
  async::Task<void> arrive(Hint hint) {
    co_await timers.sleep_for(delay);
    told[hint.node] = std::move(hint);
    ring();
  }
  void ring() {
    for (auto& [node, bell] : listening) bell->set();
  }

  async::Executor executor;
  async::Timers& timers;
  const Millis delay;
  std::map<NodeId, Hint> told;
  std::set<NodeId> cut_off;
  std::map<NodeId, async::Event*> listening;
  async::TaskGroup words;
};

class MemoryHints::Board::Engine final : public Hints {
 public:
  Engine(std::shared_ptr<Board> board, const NodeId& node)
      : board_(std::move(board)), node_(node), news_(node), changed_(board_->executor) {
    board_->listening[node_] = &changed_;
    changed_.set();
  }
  ~Engine() override {
    board_->listening.erase(node_);
    board_->told.erase(node_);
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void tell(Hint own) override {
    own.node = node_;
    board_->spread(std::move(own));
  }
  void look_at(std::vector<Address>) override {}
  async::Task<std::vector<Hint>> next() override {
    while (true) {
      co_await changed_.wait();
      changed_.reset();
      if (board_->cut_off.contains(node_)) continue;
      std::vector<Hint> all;
      for (const auto& [node, hint] : board_->told) {
        if (!board_->cut_off.contains(node)) all.push_back(hint);
      }
      auto news = news_.take(std::move(all));
      if (!news.empty()) co_return news;
    }
  }
  std::string state() const override { return "running"; }

 private:
  const std::shared_ptr<Board> board_;
  const NodeId node_;
  HintNews news_;
  async::Event changed_;
};

MemoryHints::MemoryHints(async::Executor executor, async::Timers& timers, Millis delay)
    : board_(std::make_shared<Board>(executor, timers, delay)) {}
MemoryHints::~MemoryHints() = default;

std::unique_ptr<Hints> MemoryHints::add(const NodeId& node) { return std::make_unique<Board::Engine>(board_, node); }
void MemoryHints::cut(const NodeId& node) { board_->cut_off.insert(node); }
void MemoryHints::heal(const NodeId& node) {
  board_->cut_off.erase(node);
  board_->ring();
}
void MemoryHints::forge(Hint hint) { board_->spread(std::move(hint)); }

}  // namespace corral::mesh
