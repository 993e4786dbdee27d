#include <algorithm>
#include <random>

#include <gmock/gmock.h>

#include "mesh/catalog/catalog_fixture_for_tests.h"

namespace corral::mesh {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class CatalogTest : public CatalogFixture {
 protected:
  static std::string at(const std::string& name, const std::string& content) {
    return name + "@" + hash8({sha256({content}), false});
  }
};

TEST_F(CatalogTest, OneContentIsOneModelWhateverItIsCalled) {
  disk(add(1, Reach::own), "mine", "x");
  disk(add(2, Reach::linked), "theirs", "x");
  disk(add(3, Reach::linked), "theirs", "x");
  const auto all = catalog();
  EXPECT_THAT(names(*all), ElementsAre("mine"));
  const auto& model = all->models().front();
  EXPECT_THAT(nodes_with(model), UnorderedElementsAre(id(1), id(2), id(3)));
  EXPECT_THAT(model.aliases, ElementsAre("theirs"));
  EXPECT_TRUE(model.is_here());
  EXPECT_EQ(all->find("theirs").model, &model);
  EXPECT_EQ(all->find("THEIRS").model, &model);
}

TEST_F(CatalogTest, WhatADeadNodeHadIsNotThere) {
  add(1, Reach::own);
  disk(add(2, Reach::away), "gone", "x");
  serve(nodes[2], "gone");
  const auto all = catalog();
  EXPECT_THAT(names(*all), IsEmpty());
  const auto found = all->find("gone");
  EXPECT_EQ(found.model, nullptr);
  EXPECT_THAT(found.choices, IsEmpty());
  EXPECT_THAT(found.away, ElementsAre(id(2)));
}

// Looking one up looks at all of them: nobody may make that long.
TEST_F(CatalogTest, OfNamesThatDifferInCaseOnlyAFewOfEachNodeCount) {
  const auto spelt = [](unsigned number) {
    std::string name = "aaaaaaaaaa";
    for (auto& c : name) {
      if (number % 2 == 1) c = 'A';
      number /= 2;
    }
    return name;
  };
  for (unsigned i = 0; i < 500; ++i) {
    auto& model = disk(add(2, Reach::linked), spelt(i), std::to_string(i));
    model.aliases = {spelt(500 + i)};
  }
  for (unsigned i = 0; i < 20; ++i) disk(add(1, Reach::own), spelt(i), "own " + std::to_string(i));
  const auto all = catalog();
  EXPECT_EQ(all->models().size(), 8u + 20u);
  for (const auto& model : all->models()) EXPECT_EQ(all->find(model.name).model, &model) << model.name;
  // And of those that it had in its life before.
  nodes.erase(1);
  disk(add(3, Reach::linked), spelt(1000), "another");
  auto list = known();
  std::swap(list.front().before, list.front().node_state);
  EXPECT_EQ(make_catalog(list)->find(spelt(1023)).choices.size(), 8u + 1u);
}

TEST_F(CatalogTest, ANameThatMeansTwoContentsIsAConflict) {
  add(1, Reach::own);
  disk(add(2, Reach::linked), "m", "x");
  disk(add(3, Reach::linked), "m", "y");
  const auto all = catalog();
  EXPECT_THAT(names(*all), UnorderedElementsAre(at("m", "x"), at("m", "y")));
  const auto found = all->find("m");
  EXPECT_EQ(found.model, nullptr);
  EXPECT_THAT(found.choices, UnorderedElementsAre(at("m", "x"), at("m", "y")));
  ASSERT_TRUE(all->find(at("m", "y")).model);
  EXPECT_THAT(nodes_with(*all->find(at("m", "y")).model), ElementsAre(id(3)));
}

TEST_F(CatalogTest, TheLocalFileWins) {
  disk(add(1, Reach::own), "m", "x");
  disk(add(2, Reach::linked), "m", "y");
  const auto all = catalog();
  EXPECT_THAT(names(*all), UnorderedElementsAre("m", at("m", "y")));
  EXPECT_TRUE(all->find("m").model->is_here());
  EXPECT_TRUE(all->find("M").model->is_here());
  EXPECT_FALSE(all->find(at("m", "y")).model->is_here());
}

TEST_F(CatalogTest, ANodeThatLeavesDoesntChangeWhatANameMeans) {
  add(1, Reach::own);
  disk(add(2, Reach::linked), "m", "x");
  disk(add(3, Reach::linked), "m", "y");
  nodes[2].reach = Reach::away;
  const auto all = catalog();
  EXPECT_THAT(names(*all), ElementsAre(at("m", "y")));
  EXPECT_EQ(all->find("m").model, nullptr);
  EXPECT_THAT(all->find("m").choices, UnorderedElementsAre(at("m", "x"), at("m", "y")));
  EXPECT_EQ(all->find(at("m", "x")).model, nullptr);
  EXPECT_TRUE(all->find(at("m", "y")).model);
  nodes.erase(2);  // thrown out of the mesh
  EXPECT_TRUE(catalog()->find("m").model);
}

// A node that has just started again and hasn't said which models it has.
TEST_F(CatalogTest, OfWhatANodeSaidBeforeNamesAloneCount) {
  add(0, Reach::own);
  disk(add(1, Reach::linked), "m", "one");
  serve(nodes[1], "m");
  disk(add(2, Reach::linked), "m", "two");
  auto list = known();
  list[1].before = list[1].node_state;
  list[1].node_state.reset();
  const auto made = make_catalog(list);
  EXPECT_FALSE(made->find("m").model);  // it goes on to mean two contents
  EXPECT_EQ(made->find("m").choices.size(), 2u);
  ASSERT_EQ(made->models().size(), 1u);
  EXPECT_EQ(nodes_with(made->models().front()), std::vector{id(2)});
  list.pop_back();
  EXPECT_EQ(make_catalog(list)->find("m").away, std::vector{id(1)});
  EXPECT_TRUE(make_catalog(list)->models().empty());
}

TEST_F(CatalogTest, WithoutAHashNameAndSizeTell) {
  add(1, Reach::own);
  disk(add(2, Reach::linked), "m", "x");
  disk(add(3, Reach::linked), "m");
  EXPECT_THAT(nodes_with(catalog()->models().front()), UnorderedElementsAre(id(2), id(3)));
  // Of another size it is another content.
  nodes[3].node_state.models.front().bytes += 1;
  EXPECT_EQ(catalog()->models().size(), 2u);
  EXPECT_EQ(catalog()->find("m").choices.size(), 2u);
  // Of two that it could be it is neither.
  nodes[3].node_state.models.front().bytes -= 1;
  disk(add(4, Reach::linked), "m", "y");
  EXPECT_EQ(catalog()->find("m").choices.size(), 3u);
  // Nobody knows any hash yet.
  nodes.erase(4);
  nodes[2].node_state.models.front().hash.reset();
  EXPECT_THAT(names(*catalog()), ElementsAre("m"));
}

TEST_F(CatalogTest, AliasesFindWhatNoNameFinds) {
  add(1, Reach::own);
  disk(add(2, Reach::linked), "long-name", "x").aliases = {"m", "l"};
  disk(add(3, Reach::linked), "m", "y");
  const auto all = catalog();
  EXPECT_THAT(nodes_with(*all->find("m").model), ElementsAre(id(3)));
  EXPECT_THAT(nodes_with(*all->find("l").model), ElementsAre(id(2)));
}

TEST_F(CatalogTest, ALiarCantTakeTheNameOfAnother) {
  add(1, Reach::own);
  disk(add(2, Reach::linked), "m", "x");
  // A file whose name looks like a choice.
  disk(add(3, Reach::linked), at("m", "x"), "evil");
  // A hash that begins like the other's.
  auto& made_up = disk(add(4, Reach::linked), "m", "x");
  made_up.hash->back() ^= 1;
  const auto all = catalog();
  const auto found = all->find(at("m", "x"));
  for (const auto& choice : all->find("m").choices) EXPECT_TRUE(all->find(choice).model) << choice;
  EXPECT_FALSE(found.model && nodes_with(*found.model) == std::vector{id(3)});
  auto listed = names(*all);
  std::ranges::sort(listed);
  EXPECT_EQ(std::ranges::unique(listed).size(), 0u);
  EXPECT_EQ(listed.size(), 3u);
}

TEST_F(CatalogTest, StatusSaysWhatCanBeDone) {
  disk(add(1, Reach::own, 8), "here", "h");
  auto& other = add(2, Reach::linked, 8);
  disk(other, "ready", "r");
  serve(other, "ready");
  disk(other, "loading", "l");
  serve(other, "loading", ServingState::loading);
  disk(other, "large", "b", 12);
  other.node_state.wants = {{"wish", "org/wish:Q4_0"}, {"ready", "org/ready"}};
  const auto status = [&](const char* name) { return catalog()->find(name).model->status; };
  EXPECT_EQ(status("here"), ModelStatus::unloaded);
  EXPECT_EQ(status("ready"), ModelStatus::ready);
  EXPECT_EQ(status("loading"), ModelStatus::loading);
  EXPECT_EQ(status("large"), ModelStatus::needs_capacity);
  EXPECT_EQ(status("wish"), ModelStatus::downloadable);
  EXPECT_EQ(catalog()->find("wish").model->source, "org/wish:Q4_0");
  EXPECT_EQ(catalog()->models().size(), 5u);
  // A node with the memory that takes copies is capacity.
  add(3, Reach::linked, 64).node_state.takes_copies = true;
  EXPECT_EQ(status("large"), ModelStatus::unloaded);
  nodes[3].node_state.disk_free = 12 * kGB;  // half of it may go for a copy
  EXPECT_EQ(status("large"), ModelStatus::needs_capacity);
  nodes[3].node_state.disk_free = 24 * kGB;
  EXPECT_EQ(status("large"), ModelStatus::unloaded);
  nodes[3].node_state.role = Role::client;
  EXPECT_EQ(status("large"), ModelStatus::needs_capacity);
}

TEST_F(CatalogTest, TheHostHasTheMostMemory) {
  add(1, Reach::own);
  for (unsigned number : {2U, 3U}) {
    disk(add(number, Reach::linked, 8 * number), "m", "x");
    serve(nodes[number], "m");
  }
  EXPECT_EQ(catalog()->models().front().host, id(3));
  nodes[3].node_state.serving.front().state = ServingState::draining;
  EXPECT_EQ(catalog()->models().front().host, id(2));
  nodes[3].node_state.serving.front().state = ServingState::ready;
  nodes[2].node_state.memory = nodes[3].node_state.memory;
  EXPECT_EQ(catalog()->models().front().host, std::max(id(2), id(3)));
}

std::string describe(const Catalog& catalog) {
  std::string text;
  for (const auto& model : catalog.models()) {
    text += model.name + ":" + model.plain_name + ":" + std::string(name_of(model.status)) + ":" + model.source;
    for (const auto& alias : model.aliases) text += "," + alias;
    for (const auto& node : nodes_with(model)) text += " " + short_text(node);
    if (model.host) text += " host " + short_text(*model.host);
    text += "\n";
  }
  return text;
}

// Random nodes with few names and contents, so that all kinds of conflicts come up.
TEST_F(CatalogTest, IsTheSameForAnyOrderOfItsInput) {
  std::mt19937 dice(7);
  const auto roll = [&](unsigned sides) { return dice() % sides; };
  for (int round = 0; round < 200; ++round) {
    nodes.clear();
    for (unsigned number = 1; number < 8; ++number) {
      auto& node = add(number, number == 1 ? Reach::own : static_cast<Reach>(1 + roll(3)), 2 + roll(16));
      for (unsigned i = 0; i < roll(5); ++i) {
        const std::string name(1, static_cast<char>((roll(2) != 0 ? 'a' : 'A') + roll(3)));
        if (std::ranges::find(node.node_state.models, name, &ModelOnDisk::name) != node.node_state.models.end())
          continue;
        auto& model =
            disk(node, name, roll(3) == 0 ? "" : std::string(1, static_cast<char>('x' + roll(3))), 1 + roll(2));
        if (roll(3) == 0) model.aliases = {std::string(1, static_cast<char>('a' + roll(4)))};
        if (roll(3) == 0) serve(node, name, static_cast<ServingState>(1 + roll(3)));
      }
      if (roll(4) == 0) node.node_state.wants = {{std::string(1, static_cast<char>('a' + roll(5))), "s"}};
    }
    auto list = known();
    const auto first = make_catalog(list);
    for (int i = 0; i < 3; ++i) {
      std::ranges::shuffle(list, dice);
      EXPECT_EQ(describe(*make_catalog(list)), describe(*first));
    }
    for (const auto& model : first->models()) {
      EXPECT_EQ(first->find(model.name).model, &model) << model.name << "\n" << describe(*first);
    }
  }
}

}  // namespace
}  // namespace corral::mesh
