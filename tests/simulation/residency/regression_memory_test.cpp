// Lives that once broke a rule of memory (who gives it back, who waits for it, who is downsized or recalled for it),
// shrunk and named after what went wrong.
#include "simulation/residency/peace.h"

namespace corral::residency::simulation {
namespace {

using enum Op::Kind;

// ant's memory was still on its way back, and what elk could take beside ant was reckoned with it: elk passed ant and
// took what ant needed.
TEST(ResidencyRegression, MemoryThatIsOnItsWayBackIsNotLentToWhoPasses) {
  expect_peace({
      {.kind = traits, .animal = 0, .nth = 10, .choice = 1, .ms = 1},
      {.kind = traits, .animal = 4, .nth = 10, .choice = 1, .options = 1, .ms = 1},
      {.kind = acquire, .animal = 0, .nth = 1, .ms = 1},
      {.kind = elapse, .ms = 10},
      {.kind = acquire, .animal = 10, .nth = 1, .ms = 2},
      {.kind = acquire, .animal = 0, .ms = 1},
      {.kind = foreign, .choice = 1, .ms = 100},
      {.kind = acquire, .animal = 4, .ms = 1},
  });
}

// mole waited for memory when bee, of another type, passed it and loaded; in the middle of that load, when nobody knows
// what is free, newt was sent away for mole.
TEST(ResidencyRegression, NobodyGoesForMemoryInTheMiddleOfALoad) {
  expect_peace({
      {.kind = traits, .animal = 1, .nth = 9, .choice = 1, .ms = 1},
      {.kind = acquire, .animal = 3, .ms = 10},
      {.kind = elapse, .ms = 271},
      {.kind = acquire, .animal = 13, .nth = 1, .ms = 1},
      {.kind = elapse, .ms = 187},
      {.kind = traits, .animal = 12, .nth = 12, .choice = 1, .ms = 1},
      {.kind = traits, .animal = 13, .nth = 15, .choice = 1, .options = 1, .ms = 1},
      {.kind = acquire, .animal = 12, .nth = 1, .ms = 1},
      {.kind = foreign, .choice = 2, .ms = 384},
      {.kind = settings, .nth = 11, .choice = 2, .ms = 0},
      {.kind = acquire, .animal = 1, .ms = 1},
      {.kind = fate, .animal = 1, .choice = 5},
      {.kind = acquire, .animal = 13, .nth = 1, .ms = 5},
      {.kind = elapse, .ms = 10},
  });
}

// ibis had waited for memory once; much later, when fox had gone for its slot and other programs held the rest, it
// started at once, in trust.
TEST(ResidencyRegression, TrustEndsWhenSomebodyElseHasToGo) {
  expect_peace({
      {.kind = acquire, .animal = 8, .nth = 1, .ms = 1},
      {.kind = acquire, .animal = 12, .nth = 1, .choice = 1, .options = 1, .ms = 1},
      {.kind = acquire, .animal = 6, .choice = 1, .ms = 1},
      {.kind = settings, .animal = 4, .choice = 4, .ms = 0},
      {.kind = traits, .animal = 5, .nth = 3, .choice = 1, .ms = 1},
      {.kind = acquire, .animal = 1, .choice = 2, .options = 1, .ms = 1},
      {.kind = traits, .nth = 11, .choice = 1, .ms = 1},
      {.kind = acquire, .animal = 5, .choice = 1, .ms = 1},
      {.kind = elapse, .ms = 1921},
      {.kind = acquire, .animal = 8, .choice = 1, .options = 1, .ms = 1000},
      {.kind = acquire, .animal = 12, .choice = 2, .ms = 100},
      {.kind = traits, .animal = 8, .nth = 13, .choice = 1, .options = 1, .ms = 1},
      {.kind = traits, .animal = 12, .nth = 10, .choice = 2, .options = 1, .ms = 1},
      {.kind = traits, .animal = 6, .nth = 14, .choice = 1, .options = 1, .ms = 1},
      {.kind = elapse, .animal = 7, .choice = 1, .ms = 91},
      {.kind = unload_all, .animal = 1, .ms = 1},
      {.kind = elapse, .animal = 2, .options = 1, .ms = 1},
      {.kind = acquire, .animal = 6, .choice = 1, .ms = 1},
      {.kind = elapse, .animal = 12, .choice = 1, .ms = 47},
      {.kind = acquire, .choice = 2, .options = 2, .ms = 1},
      {.kind = elapse, .animal = 8, .nth = 1, .options = 2, .ms = 1088},
      {.kind = acquire, .animal = 6, .nth = 1, .ms = 505},
      {.kind = acquire, .animal = 1, .nth = 1, .ms = 1},
      {.kind = acquire, .animal = 8, .choice = 2, .ms = 1},
      {.kind = elapse, .animal = 7, .choice = 2, .ms = 388},
      {.kind = unload, .animal = 6, .choice = 1, .ms = 1},
      {.kind = acquire, .animal = 6, .nth = 1, .options = 1, .ms = 1},
      {.kind = acquire, .animal = 12, .nth = 1, .choice = 2, .options = 1, .ms = 1},
      {.kind = acquire, .animal = 8, .nth = 1, .choice = 2, .ms = 221},
      {.kind = unload_all, .animal = 6, .choice = 1, .ms = 1},
      {.kind = acquire, .nth = 1, .choice = 2, .options = 1, .ms = 1},
      {.kind = elapse, .ms = 1179},
      {.kind = acquire, .animal = 5, .choice = 2, .ms = 1},
      {.kind = elapse, .ms = 1233},
      {.kind = acquire, .animal = 8, .nth = 1, .choice = 2, .ms = 1},
      {.kind = elapse, .animal = 12, .choice = 2, .options = 1, .ms = 36},
      {.kind = foreign, .nth = 1, .ms = 613},
      {.kind = elapse, .choice = 2, .ms = 100},
      {.kind = acquire, .animal = 12, .choice = 2, .ms = 1},
      {.kind = settings, .animal = 7, .choice = 1, .ms = 0},
  });
}

// cat's timeout came in the step in which it was sent away for bee: it was downsized first, for nothing.
TEST(ResidencyRegression, NobodyIsDownsizedWhoGoesAnyway) {
  expect_peace({
      {.kind = traits, .animal = 1, .nth = 10, .choice = 1, .ms = 1},
      {.kind = acquire, .animal = 8, .ms = 1},
      {.kind = sampler, .ms = 1024},
      {.kind = acquire, .animal = 2, .ms = 1},
      {.kind = acquire, .animal = 1, .ms = 1},
      {.kind = traits, .animal = 2, .nth = 15, .choice = 1, .options = 1, .ms = 512},
      {.kind = elapse, .ms = 788},
      {.kind = load, .animal = 2},
  });
}

// ibis, blocked itself, was going to send bee away for its memory: bee's slot, which koi ahead needed, was given to
// dog.
TEST(ResidencyRegression, TheSlotOfWhoMayGoForMemoryIsNotGivenAway) {
  expect_peace({
      {.kind = traits, .animal = 3, .nth = 12, .choice = 1, .ms = 1},
      {.kind = traits, .animal = 8, .nth = 8, .choice = 1, .ms = 1},
      {.kind = load, .animal = 1, .choice = 2, .options = 2, .ms = 1},
      {.kind = acquire, .animal = 9, .ms = 2},
      {.kind = acquire, .animal = 10, .nth = 1, .ms = 1},
      {.kind = load, .animal = 8, .nth = 1, .choice = 2, .ms = 1},
      {.kind = traits, .animal = 9, .nth = 14, .choice = 1, .ms = 1},
      {.kind = load, .animal = 9, .nth = 1, .choice = 2, .ms = 1},
      {.kind = acquire, .animal = 3, .nth = 1, .options = 1, .ms = 1},
      {.kind = settings, .animal = 9, .nth = 1, .choice = 2, .ms = 0},
  });
}

// elk and lynx both waited for the same memory; lynx loaded in trust and failed, then elk did the same at once.
TEST(ResidencyRegression, WhatOneLoadTakesIsNoLongerPromisedToAnother) {
  expect_peace({
      {.kind = traits, .animal = 4, .nth = 13, .choice = 1, .ms = 1},
      {.kind = lateness, .animal = 11, .choice = 2, .options = 1, .ms = 8192},
      {.kind = acquire, .animal = 12, .nth = 1, .choice = 2, .ms = 25},
      {.kind = load, .animal = 11, .choice = 1, .ms = 1},
      {.kind = traits, .animal = 11, .nth = 13, .choice = 1, .ms = 1},
      {.kind = acquire, .animal = 4, .options = 1, .ms = 1},
      {.kind = elapse, .ms = 5},
      {.kind = unload, .animal = 4, .choice = 1, .ms = 1},
      {.kind = elapse, .ms = 10},
      {.kind = load, .animal = 4, .choice = 1, .options = 2, .ms = 1},
      {.kind = load, .animal = 11, .ms = 1},
  });
}

// RAM was short as well, and nobody could relieve it: so everybody went who had anything of the device, where dog was
// enough.
TEST(ResidencyRegression, NobodyGoesInVainForAnotherMemoryThatIsShort) {
  expect_peace({
      {.kind = traits, .animal = 3, .nth = 7, .choice = 1, .options = 1, .ms = 16384},
      {.kind = acquire, .animal = 3, .nth = 1, .options = 1, .ms = 1},
      {.kind = traits, .animal = 4, .nth = 14, .choice = 1, .ms = 1},
      {.kind = acquire, .animal = 10, .nth = 1, .choice = 2, .ms = 1},
      {.kind = traits, .animal = 1, .nth = 1, .choice = 1, .options = 1, .ms = 4096},
      {.kind = elapse, .ms = 500},
      {.kind = acquire, .animal = 1, .ms = 1},
      {.kind = traits, .animal = 12, .nth = 6, .choice = 1, .ms = 1},
      {.kind = foreign, .animal = 11, .choice = 2, .options = 1, .ms = 706},
      {.kind = traits, .animal = 2, .nth = 3, .choice = 1, .ms = 1},
      {.kind = acquire, .animal = 3, .ms = 1},
      {.kind = settings, .animal = 13},
      {.kind = acquire, .animal = 2, .nth = 1, .choice = 2, .ms = 1},
      {.kind = acquire, .animal = 4, .nth = 1, .choice = 2, .options = 2, .ms = 1},
      {.kind = acquire, .animal = 12, .nth = 1, .ms = 1},
  });
}

// A load wanted newt to shrink, and the pressure that the same sample told of sent it away.
TEST(ResidencyRegression, WhoGoesIsNotToldToShrinkInTheSameStep) {
  expect_peace({
      {.kind = acquire, .animal = 2, .nth = 1, .choice = 2, .ms = 1},
      {.kind = crash, .animal = 13, .nth = 1, .choice = 1, .options = 1, .ms = 1},
      {.kind = settings, .animal = 3, .choice = 4},
      {.kind = acquire, .animal = 11, .choice = 2, .options = 1, .ms = 1},
      {.kind = acquire, .animal = 10, .nth = 1, .ms = 1},
      {.kind = traits, .animal = 4, .nth = 11, .choice = 1, .ms = 1},
      {.kind = elapse, .animal = 13, .nth = 1, .ms = 288},
      {.kind = acquire, .animal = 11, .nth = 1, .choice = 1, .options = 2, .ms = 1},
      {.kind = traits, .animal = 2, .nth = 9, .choice = 1, .options = 1, .ms = 1},
      {.kind = traits, .animal = 11, .nth = 9, .choice = 1, .ms = 1},
      {.kind = elapse, .animal = 7, .ms = 22},
      {.kind = traits, .animal = 13, .nth = 3, .choice = 1, .ms = 1},
      {.kind = cancel, .animal = 12, .choice = 2, .options = 1, .ms = 1},
      {.kind = acquire, .animal = 11, .options = 1, .ms = 1},
      {.kind = acquire, .animal = 10, .ms = 1},
      {.kind = acquire, .animal = 4, .nth = 1, .choice = 2, .ms = 1},
      {.kind = elapse, .animal = 0, .ms = 100},
      {.kind = traits, .animal = 3, .nth = 1, .choice = 1, .ms = 1},
      {.kind = crash, .animal = 3, .choice = 2, .options = 2, .ms = 1},
      {.kind = acquire, .animal = 13, .nth = 1, .choice = 2, .ms = 1},
      {.kind = acquire, .animal = 2, .ms = 1},
      {.kind = acquire, .animal = 11, .choice = 2, .ms = 1},
      {.kind = elapse, .animal = 0, .ms = 1455},
      {.kind = acquire, .animal = 10, .nth = 1, .choice = 1, .options = 1, .ms = 2},
      {.kind = acquire, .animal = 11, .nth = 1, .choice = 2, .ms = 1},
      {.kind = acquire, .animal = 3, .choice = 1, .ms = 1},
      {.kind = traits, .animal = 13, .nth = 2, .choice = 1, .options = 1, .ms = 8192},
      {.kind = acquire, .animal = 2, .options = 1, .ms = 1},
  });
}

// One load wanted ibis to shrink, another one to go, and the core threw.
TEST(ResidencyRegression, WhoGoesForOneLoadIsNotToldToShrinkForAnother) {
  expect_peace({
      {.kind = traits, .animal = 8, .nth = 11, .choice = 1, .options = 2, .ms = 1},
      {.kind = traits, .animal = 6, .nth = 7, .choice = 1, .ms = 1},
      {.kind = traits, .animal = 5, .nth = 4, .choice = 1, .ms = 1},
      {.kind = foreign, .animal = 6, .choice = 2, .options = 2, .ms = 647},
      {.kind = acquire, .animal = 5, .choice = 1, .ms = 1},
      {.kind = load, .animal = 6, .choice = 1, .ms = 1},
      {.kind = elapse, .animal = 0, .ms = 913},
      {.kind = traits, .animal = 9, .nth = 7, .choice = 1, .ms = 1},
      {.kind = acquire, .animal = 4, .nth = 1, .choice = 1, .ms = 1},
      {.kind = elapse, .animal = 8, .choice = 2, .ms = 388},
      {.kind = acquire, .animal = 4, .choice = 2, .ms = 1},
      {.kind = acquire, .animal = 5, .nth = 1, .options = 2, .ms = 1},
      {.kind = foreign, .animal = 13, .nth = 1, .ms = 306},
      {.kind = unload, .animal = 6, .choice = 2, .ms = 1},
      {.kind = acquire, .animal = 8, .choice = 1, .ms = 5},
      {.kind = elapse, .animal = 13, .nth = 1, .ms = 359},
      {.kind = settings, .animal = 13, .choice = 3, .options = 1, .ms = 5},
      {.kind = acquire, .animal = 4, .nth = 1, .choice = 2, .ms = 1},
      {.kind = acquire, .animal = 9, .ms = 1},
  });
}

// fox had shrunk but not said so when it was told to go for its own reload: what it gives was counted twice, and cat
// took what the reload needed.
TEST(ResidencyRegression, WhatAModelGaveUpUnansweredIsNotExpectedOnceMore) {
  expect_peace({
      {.kind = traits, .animal = 9, .nth = 11, .choice = 1, .options = 0, .ms = 1},
      {.kind = acquire, .animal = 5, .nth = 0, .choice = 1, .options = 1, .ms = 1},
      {.kind = traits, .animal = 5, .nth = 10, .choice = 1, .options = 2, .ms = 1},
      {.kind = traits, .animal = 13, .nth = 3, .choice = 1, .options = 0, .ms = 1},
      {.kind = traits, .animal = 2, .nth = 8, .choice = 1, .options = 0, .ms = 1},
      {.kind = elapse, .animal = 5, .nth = 0, .choice = 0, .options = 2, .ms = 566},
      {.kind = load, .animal = 9, .nth = 1, .choice = 0, .options = 2, .ms = 1},
      {.kind = traits, .animal = 9, .nth = 0, .choice = 2, .options = 2, .ms = 1},
      {.kind = elapse, .animal = 9, .nth = 1, .choice = 2, .options = 2, .ms = 1000},
      {.kind = load, .animal = 13, .nth = 0, .choice = 0, .options = 1, .ms = 1},
      {.kind = acquire, .animal = 5, .nth = 0, .choice = 0, .options = 0, .ms = 1},
      {.kind = acquire, .animal = 2, .nth = 0, .choice = 0, .options = 0, .ms = 1},
      {.kind = traits, .animal = 9, .nth = 8, .choice = 1, .options = 1, .ms = 2048},
      {.kind = elapse, .animal = 5, .nth = 0, .choice = 0, .options = 0, .ms = 287},
      {.kind = acquire, .animal = 9, .nth = 1, .choice = 2, .options = 0, .ms = 1},
      {.kind = elapse, .animal = 5, .nth = 1, .choice = 1, .options = 1, .ms = 350},
      {.kind = load, .animal = 5, .nth = 1, .choice = 2, .options = 1, .ms = 1},
      {.kind = crash, .animal = 5, .nth = 8, .choice = 2, .options = 2, .ms = 1},
      {.kind = acquire, .animal = 2, .nth = 0, .choice = 0, .options = 2, .ms = 1},
  });
}

// koi, whose needs nobody knows, was loading, and what had been free a second before was believed rather than the
// sample: fox went where its downsizing was enough.
TEST(ResidencyRegression, PressureInTheMiddleOfALoadOfUnknownNeedsIsReadFromTheSample) {
  expect_peace({
      {.kind = traits, .animal = 5, .nth = 7, .choice = 1, .options = 0, .ms = 1},
      {.kind = acquire, .animal = 9, .nth = 0, .choice = 2, .options = 0, .ms = 1},
      {.kind = acquire, .animal = 5, .nth = 1, .choice = 2, .options = 0, .ms = 1},
      {.kind = acquire, .animal = 13, .nth = 1, .choice = 0, .options = 1, .ms = 1},
      {.kind = acquire, .animal = 10, .nth = 0, .choice = 1, .options = 0, .ms = 2873},
      {.kind = crash, .animal = 10, .nth = 0, .choice = 0, .options = 1, .ms = 1},
      {.kind = acquire, .animal = 11, .nth = 0, .choice = 0, .options = 0, .ms = 1851},
      {.kind = elapse, .animal = 0, .nth = 0, .choice = 0, .options = 0, .ms = 2},
      {.kind = traits, .animal = 5, .nth = 14, .choice = 1, .options = 2, .ms = 4096},
      {.kind = elapse, .animal = 0, .nth = 0, .choice = 0, .options = 0, .ms = 1111},
      {.kind = acquire, .animal = 9, .nth = 0, .choice = 1, .options = 0, .ms = 967},
      {.kind = elapse, .animal = 0, .nth = 0, .choice = 0, .options = 0, .ms = 2447},
      {.kind = foreign, .animal = 11, .nth = 0, .choice = 0, .options = 0, .ms = 471},
      {.kind = acquire, .animal = 5, .nth = 1, .choice = 0, .options = 0, .ms = 1},
      {.kind = elapse, .animal = 0, .nth = 0, .choice = 0, .options = 0, .ms = 2311},
      {.kind = acquire, .animal = 10, .nth = 1, .choice = 2, .options = 2, .ms = 1},
      {.kind = elapse, .animal = 0, .nth = 0, .choice = 0, .options = 0, .ms = 131},
      {.kind = crash, .animal = 12, .nth = 2, .choice = 0, .options = 1, .ms = 1},
  });
}

// newt's memory was on its way back when other memory came back of which nobody had been told, and the core took it
// for newt's. hen then took just as much, so that the Witness thought all was known, and hen was not to go.
TEST(ResidencyRegression, WhatHidThatMemoryWasOnItsWayIsNotMadeUpForByChance) {
  expect_peace({
      {.kind = load, .animal = 11, .nth = 1, .choice = 1, .options = 0, .ms = 1},
      {.kind = lateness, .animal = 12, .nth = 0, .choice = 2, .options = 2, .ms = 10},
      {.kind = traits, .animal = 3, .nth = 11, .choice = 1, .options = 0, .ms = 1},
      {.kind = acquire, .animal = 13, .nth = 0, .choice = 0, .options = 0, .ms = 1},
      {.kind = elapse, .animal = 0, .nth = 1, .choice = 2, .options = 2, .ms = 50},
      {.kind = foreign, .animal = 8, .nth = 0, .choice = 1, .options = 0, .ms = 778},
      {.kind = traits, .animal = 13, .nth = 0, .choice = 1, .options = 0, .ms = 1},
      {.kind = load, .animal = 13, .nth = 1, .choice = 2, .options = 1, .ms = 1},
      {.kind = elapse, .animal = 0, .nth = 0, .choice = 0, .options = 2, .ms = 505},
      {.kind = unload_all, .animal = 12, .nth = 0, .choice = 1, .options = 0, .ms = 1},
      {.kind = elapse, .animal = 0, .nth = 1, .choice = 2, .options = 0, .ms = 10},
      {.kind = load, .animal = 3, .nth = 1, .choice = 1, .options = 1, .ms = 1},
      {.kind = acquire, .animal = 7, .nth = 0, .choice = 2, .options = 0, .ms = 1},
      {.kind = load, .animal = 13, .nth = 0, .choice = 2, .options = 0, .ms = 1},
  });
}

// mole hung when it was told to shrink by a simulated pass, and a request came: the pass waited for ever.
TEST(ResidencyRegression, APassEndsThoughAChildHangsInItsDownsizeAndARequestHasCome) {
  expect_peace({
      {.kind = acquire, .animal = 12, .nth = 0, .choice = 1, .options = 2, .ms = 1},
      {.kind = acquire, .animal = 6, .nth = 1, .choice = 1, .options = 0, .ms = 1},
      {.kind = elapse, .animal = 6, .nth = 1, .choice = 0, .options = 0, .ms = 5},
      {.kind = load, .animal = 12, .nth = 1, .choice = 0, .options = 0, .ms = 1},
      {.kind = elapse, .animal = 7, .nth = 1, .choice = 0, .options = 0, .ms = 14},
      {.kind = pin, .animal = 12, .nth = 1, .choice = 1, .options = 1, .ms = 1},
      {.kind = elapse, .animal = 12, .nth = 1, .choice = 1, .options = 0, .ms = 100},
      {.kind = traits, .animal = 12, .nth = 3, .choice = 1, .options = 2, .ms = 1},
      {.kind = simulate, .animal = 12, .nth = 0, .choice = 0, .options = 2, .ms = 1},
      {.kind = acquire, .animal = 12, .nth = 1, .choice = 0, .options = 0, .ms = 1},
  });
}

// newt had waited for memory that had been given up, and was looked at once more when lynx was downsized under
// pressure: the witness wanted it to wait for that as well. The core is right, since what it expects doesn't suffice.
TEST(ResidencyRegression, MemoryThatIsGivenUpAfterAWaitDoesNotBeginItAnew) {
  expect_peace({
      {.kind = traits, .animal = 13, .nth = 12, .choice = 1, .ms = 1},
      {.kind = acquire, .animal = 1, .choice = 2, .ms = 1},
      {.kind = acquire, .animal = 13, .ms = 1},
      {.kind = elapse, .animal = 13, .nth = 1, .choice = 1, .ms = 10},
      {.kind = peer, .animal = 1, .nth = 1, .choice = 1, .options = 2, .ms = 2},
      {.kind = traits, .animal = 11, .nth = 7, .choice = 1, .options = 2, .ms = 8192},
      {.kind = crash, .animal = 13, .nth = 1, .choice = 1, .ms = 1},
      {.kind = acquire, .animal = 11, .nth = 1, .choice = 1, .ms = 1},
      {.kind = elapse, .animal = 11, .ms = 1},
      {.kind = settings, .animal = 13, .nth = 5, .choice = 2, .options = 1, .ms = 0},
      {.kind = foreign, .animal = 5, .nth = 1, .choice = 1, .ms = 645},
      {.kind = disk, .animal = 13, .nth = 1, .ms = 25},
      {.kind = acquire, .animal = 13, .nth = 1, .choice = 2, .ms = 1},
  });
}

// cat was lent, and more than may be lent since the settings changed; it went when its owner's request had ended. The
// witness looked at what was lent without it.
TEST(ResidencyRegression, WhatIsLentBeyondItsShareGoesWhenItsOwnersRequestHasEnded) {
  expect_peace({
      {.kind = traits, .animal = 2, .nth = 14, .choice = 1, .ms = 0},
      {.kind = load, .animal = 10, .nth = 1, .choice = 1, .ms = 1},
      {.kind = elapse, .animal = 10, .nth = 1, .choice = 1, .options = 2, .ms = 317},
      {.kind = peer, .animal = 2, .nth = 1, .choice = 2, .ms = 1},
      {.kind = elapse, .animal = 9, .ms = 1},
      {.kind = acquire, .animal = 2, .choice = 1, .ms = 1},
      {.kind = lend, .animal = 12, .choice = 1, .ms = 1},
  });
}

// dog went for koi's slot, and in the same step ant for the memory of elk, for which dog's would have done.
TEST(ResidencyRegression, WhoGoesForTheLoadAheadIsReckonedWith) {
  expect_peace({
      {.kind = traits, .animal = 0, .nth = 9, .choice = 1, .ms = 0},
      {.kind = traits, .animal = 3, .nth = 14, .choice = 1, .ms = 0},
      {.kind = traits, .animal = 4, .nth = 8, .choice = 1, .ms = 0},
      {.kind = traits, .animal = 8, .nth = 11, .choice = 1, .ms = 0},
      {.kind = traits, .animal = 10, .nth = 6, .choice = 1, .ms = 0},
      {.kind = acquire, .animal = 0, .choice = 2, .options = 1, .ms = 1},
      {.kind = settings, .animal = 3, .choice = 3, .ms = 0},
      {.kind = acquire, .animal = 10, .nth = 1, .choice = 2, .ms = 100},
      {.kind = acquire, .animal = 8, .nth = 1, .choice = 1, .options = 2, .ms = 2},
      {.kind = elapse, .animal = 3, .choice = 1, .ms = 332},
      {.kind = acquire, .animal = 10, .nth = 1, .options = 2, .ms = 1},
      {.kind = acquire, .animal = 3, .ms = 1},
      {.kind = acquire, .animal = 4, .nth = 1, .ms = 1},
      {.kind = settings, .animal = 7, .choice = 2, .ms = 0},
      {.kind = elapse, .animal = 8, .nth = 1, .ms = 415},
      {.kind = peer, .animal = 0, .nth = 1, .choice = 2, .ms = 50},
  });
}

// hen was recalled for lynx. In the step in which that was given up hen was recalled once more, since less was to be
// lent, and requests of peers had all their time anew.
TEST(ResidencyRegression, ARecallForAnotherReasonDoesNotBeginAnew) {
  expect_peace({
      {.kind = traits, .animal = 7, .nth = 14, .choice = 1, .ms = 0},
      {.kind = peer, .animal = 7, .choice = 2, .ms = 1},
      {.kind = elapse, .nth = 1, .choice = 2, .ms = 2},
      {.kind = acquire, .nth = 1, .choice = 2, .options = 2, .ms = 1},
      {.kind = acquire, .animal = 11, .choice = 1, .ms = 1},
      {.kind = peer, .animal = 7, .nth = 1, .choice = 1, .ms = 181},
      {.kind = peer, .nth = 1, .ms = 132},
      {.kind = elapse, .animal = 11, .choice = 1, .options = 2, .ms = 12},
      {.kind = lend, .animal = 11, .nth = 1, .choice = 1, .options = 1, .ms = 64},
      {.kind = cancel, .animal = 11, .nth = 1, .choice = 2, .ms = 1},
  });
}

}  // namespace
}  // namespace corral::residency::simulation
