#include "compiler/import/pt2/archive.h"

#include "compiler/import/pt2/archive_testing.h"

namespace berth::pt2 {
namespace {

Expected<Archive> open(const std::string& bytes) {
  return Archive::open(Span<const uint8_t>(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
}

TEST(Archive, EveryRecordIsTheBytesThatWereWritten) {
  TestArchive writer;
  writer.add("m/models/model.json", "{}");
  writer.add("m/data/weights/weight_0", std::string(100, 'w'));
  writer.add("m/empty", "");
  const std::string bytes = writer.bytes();
  const auto archive = open(bytes);
  ASSERT_TRUE(archive.ok()) << archive.error().text();
  const auto json = archive->find("models/model.json");
  const auto weight = archive->find("data/weights/weight_0");
  ASSERT_TRUE(json.ok() && weight.ok());
  EXPECT_EQ(archive->text(*json), "{}");
  EXPECT_EQ(archive->text(*weight), std::string(100, 'w'));
  EXPECT_EQ(weight->offset % 64, 0u);
  EXPECT_EQ(archive->find("empty")->size, 0u);
  EXPECT_EQ(failure_of(archive->find("nothing")), "pt2 archive: has no entry \"nothing\"");
}

TEST(Archive, CompressedRecordsAreRefusedWithHowToStoreThem) {
  TestArchive writer;
  writer.add("m/models/model.json", "xx", {8, 0, 0});
  const std::string bytes = writer.bytes();
  const auto archive = open(bytes);
  ASSERT_TRUE(archive.ok());
  const std::string message = failure_of(archive->find("models/model.json"));
  EXPECT_NE(message.find("is compressed"), std::string::npos) << message;
  EXPECT_NE(message.find("torch.export.save"), std::string::npos) << message;
}

TEST(Archive, NamesThatLeaveTheArchiveAreRefused) {
  for (const char* name : {"m/../../etc/passwd", "/m/x", "..", "m/./x", "m\\x", "c:x"}) {
    TestArchive writer;
    writer.add(name, "x");
    EXPECT_EQ(failure_of(open(writer.bytes())),
              "pt2 archive: entry \"" + std::string(name) + "\" leads out of the archive");
  }
}

TEST(Archive, RecordsBeyondTheFileAreRefused) {
  for (const int64_t lie : {int64_t{1} << 20, int64_t{0x7fffffff}}) {
    TestArchive writer;
    writer.add("m/x", "abc", {0, 0, lie});
    const std::string message = failure_of(open(writer.bytes()));
    EXPECT_NE(message.find("do not lie within the file"), std::string::npos) << message;
  }
}

TEST(Archive, DuplicateNamesAreRefused) {
  TestArchive writer;
  writer.add("m/x", "1");
  writer.add("m/x", "2");
  EXPECT_EQ(failure_of(open(writer.bytes())), "pt2 archive: two entries are named \"x\"");
}

TEST(Archive, EncryptedEntriesAreRefused) {
  TestArchive writer;
  writer.add("m/x", "1", {0, 1, 0});
  EXPECT_NE(failure_of(open(writer.bytes())).find("encrypted"), std::string::npos);
}

TEST(Archive, EveryPrefixIsAnErrorOrAnArchive) {
  TestProgram p;
  p.input("x", {2});
  p.node("aten.relu.default", {{"self", tensor("x")}}, "y", {2});
  p.output("y");
  const std::string bytes = p.bytes();
  // The last bytes are the length of a comment that is not there; they are not missed.
  for (size_t size = 0; size + 3 < bytes.size(); ++size) {
    EXPECT_FALSE(import_pt2(Span<const uint8_t>(reinterpret_cast<const uint8_t*>(bytes.data()), size)).ok()) << size;
  }
}

TEST(Archive, EveryByteMayBeWrong) {
  TestProgram p;
  p.input("x", {2});
  p.payload("weight_0", {1, 2});
  p.parameter("p_w", "w", tensor_meta({2}), "weight_0");
  p.node("aten.add.Tensor", {{"self", tensor("x")}, {"other", tensor("p_w")}}, "y", {2});
  p.output("y");
  const std::string good = p.bytes();
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x15);
    const auto module = import_pt2(Span<const uint8_t>(reinterpret_cast<const uint8_t*>(bad.data()), bad.size()));
    if (!module.ok()) {
      EXPECT_FALSE(module.error().message.empty());
    }
  }
}

}  // namespace
}  // namespace berth::pt2
