// What happens by itself: links that are noticed to be broken and come back, letters that arrive, processes that end.
#include <algorithm>

#include "simulation/groups/world.h"

namespace corral::mesh::groups_simulation {
namespace {

constexpr Millis kDialled{300};

}  // namespace

// Nothing comes from there, or nothing comes back.
bool World::is_troubled(unsigned a, unsigned b) const {
  return !nodes_[b].runs() || broken_.contains({a, b}) || broken_.contains({b, a});
}

void World::move_links() {
  for (unsigned a = 0; a < nodes_.size(); ++a) {
    for (unsigned b = 0; b < nodes_.size(); ++b) {
      if (a == b) continue;
      if (!nodes_[a].runs()) continue;
      auto& end = nodes_[a].ends[b];
      if (end.up && !is_troubled(a, b)) received_at_[{a, b}] = now_;
      if (!is_troubled(a, b)) {
        end.trouble.reset();
      } else if (end.up) {
        if (!end.trouble) {
          end.trouble = now_;
          end.patience = Millis(1500 + dice_.roll(1000));
        }
        if (now_ - *end.trouble >= end.patience) take_down(a, b, LinkEnd::cut, *end.trouble);
      }
      if (a < b) bring_up(a, b);
    }
  }
}

// The process at `a` sees its link end; so does the other one, if anything gets there.
void World::take_down(unsigned a, unsigned b, LinkEnd how, Millis received) {
  auto& end = nodes_[a].ends[b];
  if (!nodes_[a].runs() || !end.up) return;
  end.up = false;
  may_dial_[std::minmax(a, b)] = now_ + kDialled + Millis(dice_.roll(300));
  const auto received_here = BootTime(received + nodes_[a].clock);
  call_core(a, [&](Groups& groups) { groups.link_down(nodes_[b].id, how, received_here, clock_of(a)); });
  if (nodes_[b].runs() && !broken_.contains({a, b})) take_down(b, a, LinkEnd::cut, now_);
}

void World::bring_up(unsigned a, unsigned b) {
  auto &one = nodes_[a].ends[b], &other = nodes_[b].ends[a];
  const bool wanted = !one.up || !other.up || one.epoch != nodes_[b].epoch || other.epoch != nodes_[a].epoch;
  if (!wanted || is_troubled(a, b) || is_troubled(b, a) || now_ < may_dial_[std::minmax(a, b)]) return;
  for (const auto& [here, there] : {std::pair(a, b), std::pair(b, a)}) {
    auto& end = nodes_[here].ends[there];
    if (end.up && end.epoch == nodes_[there].epoch) continue;
    end = {.up = true, .epoch = nodes_[there].epoch, .trouble = {}, .patience = Millis(0)};
    const auto& id = nodes_[there].id;
    const auto epoch = nodes_[there].epoch;
    call_core(here, [&](Groups& groups) { groups.link_up(id, epoch, clock_of(here)); });
  }
}

void World::move_letters() {
  // In the order in which they were sent, as far as they are due at once: delays mix them.
  for (std::size_t i = 0; i < letters_.size() && !outcome_.violation;) {
    const auto letter = letters_[i];
    const auto drop = [&] { letters_.erase(letters_.begin() + static_cast<std::ptrdiff_t>(i)); };
    const auto& to = nodes_[letter.to];
    const bool gone = !to.groups || to.epoch != letter.epoch_to || nodes_[letter.from].epoch != letter.epoch_from ||
                      !to.ends[letter.from].up;
    if (gone) {
      drop();
    } else if (letter.due > now_ || to.paused || broken_.contains({letter.from, letter.to})) {
      ++i;
    } else {
      drop();
      const auto& from = nodes_[letter.from].id;
      call_core(letter.to, [&](Groups& groups) { groups.message(from, letter.message, clock_of(letter.to)); });
    }
  }
}

void World::move_processes() {
  for (unsigned at = 0; at < nodes_.size(); ++at) {
    auto& node = nodes_[at];
    if (node.runs() && node.worker && node.worker->gone <= now_) {
      node.worker.reset();
      call_core(at, [&](Groups& groups) { groups.worker_reaped(clock_of(at)); });
    }
    if (!node.runs() || !node.engine) continue;
    auto& engine = *node.engine;
    // Without a link its tunnel is closed, and without a worker at the other end as well.
    bool broken = engine.ends <= now_;
    for (const auto& share : engine.plan.split.shares) {
      const auto other = number_of(share.node);
      const auto& worker = nodes_[other].worker;
      const bool there = worker && worker->works && worker->host == node.id && worker->of == engine.of;
      if (other == at) {
        broken = broken || !there;
      } else {
        broken = broken || !node.ends[other].up || (!there && !is_troubled(at, other));
      }
    }
    const auto model = engine.plan.model;
    const auto of = engine.of;
    if (broken) {
      node.engine.reset();
      note("  n" + std::to_string(at) + "'s engine has ended");
      call_core(at, [&](Groups& groups) { groups.engine_ended(model, of, clock_of(at)); });
    } else if (engine.drained <= now_) {
      engine.drained = kNever;
      call_core(at, [&](Groups& groups) { groups.engine_drained(model, of, clock_of(at)); });
    }
  }
}

}  // namespace corral::mesh::groups_simulation
