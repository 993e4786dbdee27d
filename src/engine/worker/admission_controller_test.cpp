#include "engine/worker/admission_controller.h"

#include "engine/worker/test_parts.h"

namespace corral::engine {
namespace {

class AdmissionTo100Cells : public test::Parts {};

TEST_F(AdmissionTo100Cells, GoByAgeAsFarAsThereAreSome) {
  for (int i = 0; i < 6; ++i) waiting(10, 1);
  admission.admit();
  ASSERT_EQ(sessions.active().size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(sessions.active()[i]->id(), i + 1);
  EXPECT_EQ(sessions.waiting().size(), 2u);
}

TEST_F(AdmissionTo100Cells, SomeAreLeftForThoseThatDontWait) {
  for (int i = 0; i < 6; ++i) waiting(5, 1).generation->background = true;
  admission.admit();
  EXPECT_EQ(sessions.active().size(), 3u);
  Session& quick = waiting(5, 1);
  admission.admit();
  EXPECT_EQ(sessions.active().size(), 4u);
  EXPECT_EQ(sessions.active().back(), &quick);
  finisher.finish(quick, FinishReason::cancelled);
  admission.admit();
  EXPECT_EQ(sessions.active().size(), 3u);
}

// 60 cells and the 16 that are foreseen of its answer leave 24.
TEST_F(AdmissionTo100Cells, NobodyGoesBeforeOneWhoFindsNoCells) {
  compute(waiting(60, 100), 60);
  Session& large = waiting(30, 100);
  waiting(5, 1);
  admission.admit();
  EXPECT_TRUE(sessions.blocks(large));
  EXPECT_EQ(sessions.active().size(), 1u);
  finisher.finish(*sessions.active()[0], FinishReason::cancelled);
  admission.admit();
  EXPECT_EQ(sessions.active().size(), 2u);
}

TEST_F(AdmissionTo100Cells, WhoIsAloneGetsOnWhateverIsForeseen) {
  waiting(95, 100);
  admission.admit();
  EXPECT_EQ(sessions.active().size(), 1u);
}

TEST_F(AdmissionTo100Cells, WhereCellsRunOutTheNewestGoes) {
  Session& first = waiting(40);
  Session& second = waiting(40);
  compute(second, 40);
  compute(first, 40);
  admission.make_room();
  EXPECT_EQ(second.phase(), Phase::waiting);
  EXPECT_EQ(second.sequence, -1);
  EXPECT_EQ(first.phase(), Phase::active);
  EXPECT_EQ(counters.preemptions, 1u);
}

TEST_F(AdmissionTo100Cells, WhoIsAloneAndHasAllCellsEnds) {
  Session& session = waiting(100);
  compute(session, 100);
  const auto output = session.generation->stream;
  admission.make_room();
  EXPECT_EQ(end_of(output)->reason, FinishReason::context_full);
}

TEST_F(AdmissionTo100Cells, APassFindsCellsAtTheCostOfThoseThatDoNotRun) {
  Session& idle = waiting(40);
  compute(idle, 40);
  finisher.finish(idle, FinishReason::length);
  Session& session = waiting(90);
  compute(session, 50);
  Pass pass;
  pass.items = {{.session = &session, .tokens = 40}};
  EXPECT_TRUE(admission.find_cells(pass));
  EXPECT_EQ(idle.sequence, -1);
  pass.items[0].tokens = 51;
  EXPECT_FALSE(admission.find_cells(pass)) << "more than there are";
}

TEST_F(AdmissionTo100Cells, WhoComesHomeHasAPlaceIfItCanStay) {
  compute(waiting(40, 1), 40);
  Session& session = waiting(30, 1);
  faults.session = &session;
  admission.take_home({session, 29, std::vector<std::uint8_t>(29)});
  EXPECT_EQ(session.phase(), Phase::active);
  EXPECT_EQ(session.in_cache, 29u);
  EXPECT_EQ(faults.session, nullptr);
}

TEST_F(AdmissionTo100Cells, WhoComesHomeToAFullHouseWaits) {
  compute(waiting(80, 100), 80);
  Session& session = waiting(30, 100);
  admission.take_home({session, 29, std::vector<std::uint8_t>(29)});
  EXPECT_EQ(session.phase(), Phase::waiting);
  EXPECT_EQ(session.sequence, -1);
}

TEST_F(AdmissionTo100Cells, WithoutMemoryAllHearOfIt) {
  maker->any = false;
  kv.drop({});
  const auto output = waiting(10).generation->stream;
  admission.admit();
  EXPECT_EQ(end_of(output)->error->code, errc::out_of_memory);
  EXPECT_TRUE(sessions.waiting().empty());
}

class AdmissionToGrowingMemory : public test::Parts {
 protected:
  AdmissionToGrowingMemory()
      : Parts({.max_sequences = 4, .prefix_cache_tokens = 50, .max_cells = 200, .threads = {4, 6}, .lane_tokens = 20}) {
  }
};

TEST_F(AdmissionToGrowingMemory, GrowForWhoComesNextAndTheOthersMoveAlong) {
  Session& running = waiting(10, 1);
  compute(running, 10);
  waiting(150, 20);
  admission.admit();
  EXPECT_EQ(kv.cells(), 200u);
  EXPECT_EQ(running.phase(), Phase::active);
  EXPECT_EQ(kv->length(running.sequence), 10u);
  EXPECT_EQ(counters.growths, 1u);
}

TEST_F(AdmissionToGrowingMemory, WhoCanNeverHaveCellsIsToldBeforeAnythingIsComputed) {
  maker->largest = 100;
  const auto output = waiting(150, 20).generation->stream;
  admission.admit();
  EXPECT_EQ(end_of(output)->reason, FinishReason::context_full);
}

}  // namespace
}  // namespace corral::engine
