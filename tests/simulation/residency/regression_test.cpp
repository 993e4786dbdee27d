// Lives that once broke a rule of the queue, of slots or of options, shrunk and named after what went wrong. Those
// about memory are in regression_memory_test.cpp.
#include "simulation/residency/peace.h"

namespace corral::residency::simulation {
namespace {

using enum Op::Kind;

// koi drained for mole, which was refused when koi was pinned; koi's own reload, which had just begun to wait, kept it
// draining, with the reason of the refused load.
TEST(ResidencyRegression, ADrainForARefusedLoadDoesNotPassToAnotherLoad) {
  expect_peace({
      {.kind = acquire, .animal = 10, .ms = 3559},
      {.kind = acquire, .animal = 12, .nth = 1, .ms = 1},
      {.kind = elapse, .ms = 2006},
      {.kind = load, .animal = 10, .options = 2},
      {.kind = pin, .animal = 10, .choice = 1},
  });
}

// gnu came back from draining with a `load` that pinned it; mole, ahead in the queue, wasn't told that the NPU was
// taken.
TEST(ResidencyRegression, APinByALoadThatFindsItsModelBackIsToldToThoseAhead) {
  expect_peace({
      {.kind = acquire, .animal = 6, .ms = 1},
      {.kind = elapse, .ms = 5},
      {.kind = settings, .choice = 2, .options = 1, .ms = 0},
      {.kind = load, .animal = 12, .options = 2},
      {.kind = load, .animal = 6, .choice = 1},
      {.kind = settings, .choice = 4, .ms = 1},
  });
}

// A `load` changed the options of a queued load to those that were cooling down.
TEST(ResidencyRegression, ACoolingModelDoesNotSlipInThroughAQueuedLoadWithOtherOptions) {
  expect_peace({
      {.kind = acquire, .animal = 4, .nth = 1, .ms = 1},
      {.kind = fate, .animal = 4, .choice = 2},
      {.kind = elapse, .ms = 25},
      {.kind = acquire, .animal = 4, .ms = 1},
      {.kind = elapse, .ms = 1608},
      {.kind = acquire, .animal = 2, .ms = 1},
      {.kind = load, .animal = 4, .choice = 2, .options = 1},
      {.kind = load, .animal = 4, .choice = 2, .options = 0},
  });
}

// Two explicit loads during a load, the second with the options that were loading: it stayed behind in the queue, and
// was tried once more after those options had failed for good.
TEST(ResidencyRegression, ALoadThatGoesBackToTheOptionsThatLoadJoinsThatLoad) {
  expect_peace({
      {.kind = fate, .animal = 1, .choice = 5},
      {.kind = acquire, .animal = 1, .ms = 1},
      {.kind = crash, .nth = 0},
      {.kind = crash, .nth = 0},
      {.kind = acquire, .animal = 1, .ms = 1},
      {.kind = acquire, .animal = 13, .nth = 1, .ms = 1},
      {.kind = elapse, .ms = 1},
      {.kind = load, .animal = 1, .options = 2},
      {.kind = load, .animal = 1, .options = 0},
      {.kind = unload, .animal = 1},
  });
}

// In one step elk was started and koi, the reason why dog ahead of elk had to wait, was refused: dog should have
// started.
TEST(ResidencyRegression, NobodyIsDecidedForBeforeAllRefusalsAreDone) {
  expect_peace({
      {.kind = acquire, .animal = 1, .nth = 1, .ms = 1},
      {.kind = acquire, .animal = 12, .ms = 10},
      {.kind = acquire, .animal = 10, .nth = 1, .ms = 1},
      {.kind = elapse, .ms = 5},
      {.kind = load, .animal = 12, .choice = 1, .options = 1},
      {.kind = acquire, .animal = 4, .ms = 1},
      {.kind = elapse, .ms = 4},
      {.kind = acquire, .animal = 3, .ms = 1},
      {.kind = crash, .nth = 3},
      {.kind = crash, .nth = 1},
      {.kind = acquire, .animal = 8, .ms = 1},
      {.kind = acquire, .animal = 4, .ms = 1},
      {.kind = load, .animal = 12, .nth = 1, .choice = 1},
  });
}

// A `load` that found its model as wanted took its pin away, after the limit had been looked at.
TEST(ResidencyRegression, AModelAboveTheLimitGoesWhenALoadUnpinsIt) {
  expect_peace({
      {.kind = load, .animal = 0, .choice = 1},
      {.kind = settings, .choice = 4, .options = 1, .ms = 0},
      {.kind = acquire, .animal = 3, .nth = 1, .ms = 1},
      {.kind = elapse, .ms = 8},
      {.kind = settings, .choice = 1, .ms = 0},
      {.kind = load, .animal = 0, .choice = 2, .options = 1},
      {.kind = load, .animal = 0},
  });
}

// A `load` whose model turned out to be there as wanted, after it had been queued for a reload, didn't count as use.
TEST(ResidencyRegression, AQueuedLoadThatFindsItsModelThereCountsAsUse) {
  expect_peace({
      {.kind = settings, .choice = 0, .ms = 0},
      {.kind = load, .animal = 0, .options = 2},
      {.kind = acquire, .animal = 1, .nth = 1, .ms = 1},
      {.kind = load, .animal = 8, .choice = 1, .options = 2},
      {.kind = load, .animal = 0, .options = 0},
      {.kind = elapse, .ms = 12},
      {.kind = load, .animal = 0, .choice = 2, .options = 2},
      {.kind = settings, .choice = 1, .ms = 0},
  });
}

// bee, pinned and watched for its memory, was still busy at the shutdown; when it ended nobody was told that the watch
// is over.
TEST(ResidencyRegression, TheWatchEndsWithTheLastInstanceThatDrained) {
  expect_peace({
      {.kind = load, .animal = 1, .choice = 1, .options = 0, .ms = 1},
      {.kind = traits, .animal = 1, .nth = 12, .choice = 1, .options = 1, .ms = 1},
  });
}

// A `load` of fox, refused because too many waited, changed how fox may be evicted.
TEST(ResidencyRegression, ALoadThatIsRefusedChangesNoSettings) {
  expect_peace({
      {.kind = acquire, .animal = 13, .nth = 1, .ms = 1},
      {.kind = acquire, .animal = 5, .nth = 1, .ms = 1},
      {.kind = settings, .nth = 1, .choice = 0, .ms = 0},
      {.kind = crash, .nth = 1},
      {.kind = traits, .animal = 5, .nth = 11, .choice = 1, .options = 1, .ms = 1},
      {.kind = crash, .nth = 1},
      {.kind = load, .animal = 5, .choice = 1},
  });
}

// fox was to be unloaded once it had loaded, and was asked for again; then nobody waited for its load any more, and it
// was aborted: rightly, the later wish is for another one.
TEST(ResidencyRegression, ALoadAskedForAfterAnUnloadDoesNotKeepTheOneThatLoads) {
  expect_peace({
      {.kind = acquire, .animal = 5, .nth = 1, .choice = 0, .options = 0, .ms = 1},
      {.kind = acquire, .animal = 7, .nth = 1, .choice = 1, .options = 0, .ms = 1},
      {.kind = acquire, .animal = 7, .nth = 1, .choice = 1, .options = 0, .ms = 1},
      {.kind = acquire, .animal = 5, .nth = 0, .choice = 1, .options = 0, .ms = 1},
      {.kind = cancel, .animal = 6, .nth = 0, .choice = 2, .options = 0, .ms = 1},
      {.kind = unload_all, .animal = 0, .nth = 1, .choice = 2, .options = 2, .ms = 1},
      {.kind = load, .animal = 5, .nth = 0, .choice = 1, .options = 0, .ms = 1},
      {.kind = cancel, .animal = 0, .nth = 2, .choice = 0, .options = 1, .ms = 1},
  });
}

// ibis went from options that had been looked at to others and, with a new request, back. The witness held it to the
// rules of a load that is known. The core is right: nothing is known of what is asked for now.
TEST(ResidencyRegression, WhatWasFoundOutForOtherOptionsIsForgotten) {
  expect_peace({
      {.kind = traits, .animal = 8, .nth = 12, .choice = 1, .ms = 0},
      {.kind = acquire, .animal = 8, .ms = 1},
      {.kind = elapse, .ms = 61},
      {.kind = acquire, .animal = 1, .choice = 1, .options = 2, .ms = 1},
      {.kind = elapse, .ms = 27},
      {.kind = load, .animal = 8, .options = 2, .ms = 1},
      {.kind = elapse, .ms = 39},
      {.kind = load, .animal = 8, .nth = 1, .ms = 1},
      {.kind = elapse, .ms = 58},
      {.kind = acquire, .animal = 5, .nth = 1, .choice = 2, .ms = 1},
      {.kind = elapse, .animal = 2, .choice = 1, .ms = 2},
      {.kind = unload_all, .animal = 5, .nth = 1, .options = 2, .ms = 1},
      {.kind = elapse, .ms = 47},
      {.kind = disk, .animal = 8, .options = 2, .ms = 1},
      {.kind = elapse, .ms = 50},
      {.kind = load, .animal = 8, .ms = 1},
      {.kind = elapse, .ms = 23},
      {.kind = foreign, .animal = 8, .ms = 797},
      {.kind = elapse, .ms = 158},
      {.kind = acquire, .animal = 8, .choice = 1, .ms = 1},
      {.kind = load, .animal = 5, .choice = 1, .options = 2, .ms = 1},
  });
}

// The same with an explicit load, and the NPU.
TEST(ResidencyRegression, ALoadWithOptionsOfAnEarlierLookIsLookedAtAnew) {
  expect_peace({
      {.kind = traits, .animal = 9, .nth = 14, .choice = 1, .ms = 0},
      {.kind = acquire, .animal = 9, .nth = 1, .options = 2, .ms = 1},
      {.kind = traits, .animal = 7, .nth = 8, .choice = 1, .ms = 1},
      {.kind = elapse, .ms = 184},
      {.kind = acquire, .animal = 4, .choice = 1, .ms = 1},
      {.kind = elapse, .ms = 90},
      {.kind = acquire, .animal = 7, .choice = 1, .ms = 1},
      {.kind = load, .animal = 11, .nth = 1, .choice = 1, .options = 1, .ms = 1},
      {.kind = disk, .animal = 11, .options = 2, .ms = 500},
      {.kind = elapse, .ms = 63},
      {.kind = foreign, .animal = 11, .choice = 1, .options = 2, .ms = 436},
      {.kind = elapse, .animal = 9, .options = 1, .ms = 55},
      {.kind = load, .animal = 11, .choice = 2, .ms = 1},
      {.kind = elapse, .ms = 81},
      {.kind = disk, .animal = 9, .nth = 1, .ms = 256},
      {.kind = elapse, .animal = 9, .nth = 1, .choice = 1, .options = 2, .ms = 26},
      {.kind = acquire, .animal = 9, .options = 1, .ms = 1},
      {.kind = load, .animal = 7, .nth = 1, .choice = 1, .ms = 1},
      {.kind = elapse, .ms = 100},
      {.kind = traits, .animal = 4, .nth = 11, .choice = 1, .ms = 1},
      {.kind = elapse, .ms = 100},
      {.kind = traits, .animal = 11, .nth = 14, .choice = 1, .options = 2, .ms = 1},
      {.kind = acquire, .animal = 4, .nth = 1, .choice = 1, .ms = 55},
      {.kind = unload_all, .animal = 9, .nth = 1, .ms = 1},
      {.kind = acquire, .animal = 4, .choice = 2, .options = 2, .ms = 1},
      {.kind = elapse, .ms = 124},
      {.kind = acquire, .animal = 7, .nth = 1, .ms = 1},
      {.kind = elapse, .ms = 107},
      {.kind = load, .animal = 11, .nth = 1, .choice = 2, .ms = 1},
  });
}

}  // namespace
}  // namespace corral::residency::simulation
