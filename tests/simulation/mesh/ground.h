// What a simulated mesh stands on: how frames get from node to node. Two of them: links that are queues, for many lives
// in little time, and the real link protocol on a network in memory.
#pragma once

#include <memory>

#include "async/timer.h"
#include "mesh/members/member_set.h"
#include "mesh/peers/peers.h"

namespace corral::mesh::simulation {

class Ground {
 public:
  virtual ~Ground() = default;

  virtual async::ManualTimers& time() = 0;
  virtual async::Executor executor() = 0;
  // The process of `node` begins; its key may be another one than in its last life
  // (somebody who runs has let it in). Links come up once there is
  // somebody who listens: call go().
  virtual Peers& begin(unsigned node, const SigningKey& key, const Boot& boot) = 0;
  virtual void go(unsigned node) = 0;
  virtual void end(unsigned node) = 0;
  virtual void set_path(unsigned from, unsigned to, bool whole) = 0;
  virtual void set_delay(unsigned from, unsigned to, Millis delay) = 0;
  virtual void set_paused(unsigned node, bool paused) = 0;
  virtual void replace_link(unsigned a, unsigned b) = 0;
  // `by` throws the key of `node` out. False: it can't, as its disk is full.
  virtual bool revoke(unsigned node, unsigned by) = 0;
  // Nothing can be written to the disk of `node`.
  virtual void set_full(unsigned, bool) {}
  // From its next start on `node` is of a later minor version (later.h).
  virtual void set_later(unsigned, bool) {}
  // Of its process, which may stand still.
  virtual async::Timers& timers(unsigned) { return time(); }
  virtual MembershipStatus standing(unsigned at, const PublicKey& key) const = 0;
  // All that is under way and due arrives.
  virtual void pass(Millis time) = 0;
};

// For tests of the checks: nodes that break a rule of links.
struct BrokenLinks {
  bool strict_frames = false;      // a link ends with a frame of a kind that isn't known
  bool members_need_disk = false;  // what others tell of members isn't heeded while the disk is full
};

std::unique_ptr<Ground> make_queues(unsigned nodes);
std::unique_ptr<Ground> make_links(unsigned nodes, const BrokenLinks& broken = {});

// From a break to both ends knowing of it, at most.
inline constexpr Millis kNoticed{2700};
inline constexpr Millis kMaxDelay{200};

}  // namespace corral::mesh::simulation
