// Views and permutations of images. The fears: channels that are taken for images or places, and what they would then
// hold.
#include "compiler/fuse/image_places.h"

#include <gtest/gtest.h>

namespace berth::fuse {
namespace {

using Numbers = std::vector<int64_t>;

struct Move {
  bool is_view;
  Numbers numbers;  // sizes, or an order
};
Move view(Numbers sizes) { return {true, std::move(sizes)}; }
Move order(Numbers dims) { return {false, std::move(dims)}; }

bool kept(const std::vector<Move>& moves, const Numbers& image = {8, 5, 4, 6}) {
  ir::Symbols symbols;
  const std::vector<ir::Dim> sizes = ir::dims(image);
  Strided moved = whole_image(symbols, ir::ValueId{}, sizes);
  for (const Move& move : moves) {
    const bool known = move.is_view ? regroup(symbols, ir::dims(move.numbers), &moved) : permute(move.numbers, &moved);
    EXPECT_TRUE(known);
  }
  return keeps_places(symbols, sizes, moved);
}

TEST(ImagePlaces, ImagesMayBeRowsAndPlacesMayBeCutElsewhere) {
  EXPECT_TRUE(kept({}));
  EXPECT_TRUE(kept({view({1, 8, 5, 24}), order({0, 2, 1, 3})}));
  EXPECT_TRUE(kept({view({2, 4, 5, 24}), order({0, 2, 1, 3})}));
  EXPECT_TRUE(kept({view({8, 5, 2, 12})}));
}

TEST(ImagePlaces, ChannelsAreNeitherImagesNorPlaces) {
  EXPECT_FALSE(kept({order({1, 0, 2, 3})}, {5, 5, 4, 6})) << "as many images, exchanged with them";
  EXPECT_FALSE(kept({order({0, 3, 2, 1})}, {8, 5, 1, 5})) << "as many columns, exchanged with them";
  EXPECT_FALSE(kept({view({8, 5, 24})})) << "three dimensions";
  EXPECT_FALSE(kept({view({1, 40, 4, 6})})) << "images among the channels";
}

TEST(ImagePlaces, PlacesKeepTheirOrder) {
  EXPECT_FALSE(kept({order({0, 1, 3, 2})}));
  EXPECT_FALSE(kept({view({8, 5, 4, 6}), order({2, 1, 0, 3})}));
}

TEST(ImagePlaces, AnOrderOfOtherDimensionsIsRefused) {
  ir::Symbols symbols;
  Strided moved = whole_image(symbols, ir::ValueId{}, ir::dims({8, 5, 4, 6}));
  EXPECT_FALSE(permute({}, &moved));
  EXPECT_FALSE(permute({0, 2, 1}, &moved));
}

}  // namespace
}  // namespace berth::fuse
