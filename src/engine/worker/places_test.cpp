#include "engine/worker/places.h"

#include "engine/worker/test_parts.h"

namespace corral::engine {
namespace {

class PlacesOf100 : public test::Parts {};

TEST_F(PlacesOf100, GoByAgeAsFarAsThereAreSome) {
  for (int i = 0; i < 6; ++i) waiting(10, 1);
  places.admit();
  ASSERT_EQ(roster.active().size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(roster.active()[i]->id(), i + 1);
  EXPECT_EQ(roster.waiting().size(), 2u);
}

TEST_F(PlacesOf100, SomeAreLeftForThoseThatDontWait) {
  for (int i = 0; i < 6; ++i) waiting(5, 1).generation->background = true;
  places.admit();
  EXPECT_EQ(roster.active().size(), 3u);
  Session& quick = waiting(5, 1);
  places.admit();
  EXPECT_EQ(roster.active().size(), 4u);
  EXPECT_EQ(roster.active().back(), &quick);
  endings.finish(quick, StopReason::cancelled);
  places.admit();
  EXPECT_EQ(roster.active().size(), 3u);
}

// 60 cells and the 16 that are foreseen of its answer leave 24.
TEST_F(PlacesOf100, NobodyGoesBeforeOneWhoFindsNoCells) {
  compute(waiting(60, 100), 60);
  Session& large = waiting(30, 100);
  waiting(5, 1);
  places.admit();
  EXPECT_TRUE(roster.starves(large));
  EXPECT_EQ(roster.active().size(), 1u);
  endings.finish(*roster.active()[0], StopReason::cancelled);
  places.admit();
  EXPECT_EQ(roster.active().size(), 2u);
}

TEST_F(PlacesOf100, WhoIsAloneGetsOnWhateverIsForeseen) {
  waiting(95, 100);
  places.admit();
  EXPECT_EQ(roster.active().size(), 1u);
}

TEST_F(PlacesOf100, WhereCellsRunOutTheNewestGoes) {
  Session& first = waiting(40);
  Session& second = waiting(40);
  compute(second, 40);
  compute(first, 40);
  places.make_room();
  EXPECT_EQ(second.phase(), Phase::waiting);
  EXPECT_EQ(second.sequence, -1);
  EXPECT_EQ(first.phase(), Phase::active);
  EXPECT_EQ(counters.preemptions, 1u);
}

TEST_F(PlacesOf100, WhoIsAloneAndHasAllCellsEnds) {
  Session& session = waiting(100);
  compute(session, 100);
  const auto heard = session.generation->stream;
  places.make_room();
  EXPECT_EQ(end_of(heard)->reason, StopReason::context_full);
}

TEST_F(PlacesOf100, APassFindsCellsAtTheCostOfThoseThatDoNotRun) {
  Session& idle = waiting(40);
  compute(idle, 40);
  endings.finish(idle, StopReason::length);
  Session& session = waiting(90);
  compute(session, 50);
  Pass pass;
  pass.items = {{.session = &session, .tokens = 40}};
  EXPECT_TRUE(places.find_cells(pass));
  EXPECT_EQ(idle.sequence, -1);
  pass.items[0].tokens = 51;
  EXPECT_FALSE(places.find_cells(pass)) << "more than there are";
}

TEST_F(PlacesOf100, WhoComesHomeHasAPlaceIfItCanStay) {
  compute(waiting(40, 1), 40);
  Session& session = waiting(30, 1);
  hand.session = &session;
  places.take_home({session, 29, std::vector<std::uint8_t>(29)});
  EXPECT_EQ(session.phase(), Phase::active);
  EXPECT_EQ(session.in_cache, 29u);
  EXPECT_EQ(hand.session, nullptr);
}

TEST_F(PlacesOf100, WhoComesHomeToAFullHouseWaits) {
  compute(waiting(80, 100), 80);
  Session& session = waiting(30, 100);
  places.take_home({session, 29, std::vector<std::uint8_t>(29)});
  EXPECT_EQ(session.phase(), Phase::waiting);
  EXPECT_EQ(session.sequence, -1);
}

TEST_F(PlacesOf100, WithoutMemoryAllHearOfIt) {
  maker->any = false;
  keeper.drop({});
  const auto heard = waiting(10).generation->stream;
  places.admit();
  EXPECT_EQ(end_of(heard)->error->code, errc::out_of_memory);
  EXPECT_TRUE(roster.waiting().empty());
}

class GrowingPlaces : public test::Parts {
 protected:
  GrowingPlaces()
      : Parts(
            {.max_sequences = 4, .prefix_cache_tokens = 50, .most_cells = 200, .threads = {4, 6}, .lane_tokens = 20}) {}
};

TEST_F(GrowingPlaces, GrowForWhoComesNextAndTheOthersMoveAlong) {
  Session& running = waiting(10, 1);
  compute(running, 10);
  waiting(150, 20);
  places.admit();
  EXPECT_EQ(keeper.cells(), 200u);
  EXPECT_EQ(running.phase(), Phase::active);
  EXPECT_EQ(keeper->length(running.sequence), 10u);
  EXPECT_EQ(counters.growths, 1u);
}

TEST_F(GrowingPlaces, WhoCanNeverHaveCellsIsToldBeforeAnythingIsComputed) {
  maker->largest = 100;
  const auto heard = waiting(150, 20).generation->stream;
  places.admit();
  EXPECT_EQ(end_of(heard)->reason, StopReason::context_full);
}

}  // namespace
}  // namespace corral::engine
