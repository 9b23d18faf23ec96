#include "base/id.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

namespace berth {
namespace {

struct Value;
struct Node;
using ValueId = Id<Value>;
using NodeId = Id<Node>;

static_assert(!std::is_convertible_v<ValueId, NodeId>);
static_assert(!std::is_convertible_v<int, ValueId> && !std::is_convertible_v<ValueId, int>);

TEST(Id, IsNoneByDefault) {
  EXPECT_FALSE(ValueId().valid());
  EXPECT_TRUE(ValueId{0}.valid());
  EXPECT_TRUE(ValueId{1} == ValueId{1} && ValueId{1} != ValueId{2} && ValueId{1} < ValueId{2});
}

TEST(IdVector, GivesEachElementTheNextId) {
  IdVector<ValueId, std::string> names;
  EXPECT_EQ(names.next_id(), ValueId{0});
  const ValueId a = names.push_back("a");
  const ValueId b = names.push_back("b");
  EXPECT_EQ(a, ValueId{0});
  EXPECT_EQ(names[b], "b");
  names[a] = "c";
  EXPECT_EQ(names[a], "c");
}

TEST(IdVector, ContainsItsOwnIdsOnly) {
  const IdVector<ValueId, int> numbers(2, 7);
  EXPECT_TRUE(numbers.contains(ValueId{0}) && numbers.contains(ValueId{1}));
  EXPECT_FALSE(numbers.contains(ValueId{2}));
  EXPECT_FALSE(numbers.contains(ValueId()));
}

TEST(IdVector, GrowsToContainAnId) {
  IdVector<ValueId, int> numbers(2, 7);
  numbers.grow_to(ValueId{1});
  EXPECT_EQ(numbers.size(), 2u);
  numbers.grow_to(ValueId{3});
  EXPECT_EQ(numbers.size(), 4u);
  EXPECT_EQ(numbers[ValueId{1}], 7);
  EXPECT_EQ(numbers[ValueId{3}], 0);
}

TEST(IdVector, VisitsEachIdOnce) {
  IdVector<NodeId, bool> seen(3);
  for (NodeId id : seen.ids()) {
    EXPECT_FALSE(seen[id]);
    seen[id] = true;
  }
  EXPECT_EQ(seen, (IdVector<NodeId, bool>(3, true)));
  EXPECT_FALSE((IdVector<NodeId, bool>()).ids().begin() != (IdVector<NodeId, bool>()).ids().end());
}

TEST(IdVector, DoesNotVisitWhatIsAddedMeanwhile) {
  IdVector<ValueId, int> numbers(2);
  for (ValueId id : numbers.ids()) numbers.push_back(id.index);
  EXPECT_EQ(numbers.size(), 4u);
}

}  // namespace
}  // namespace berth
