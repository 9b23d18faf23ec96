// The fears: half a file where a whole one was, a link that is replaced by a file, permissions that get wider, and a
// killed process that keeps all later ones from writing.
#include "base/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

namespace berth {
namespace {

namespace fs = std::filesystem;

class OutputFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("output_file" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string content(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t files() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }

  fs::path folder_;
};

Status write(const std::string& path, const std::string& text) {
  return write_whole_file(path, [&](OutputFile& file) { return file.write(text.data(), text.size()); });
}

TEST_F(OutputFiles, AFailureLeavesWhatWasThereAndNothingElse) {
  ASSERT_TRUE(write(path("a"), "old").ok());
  const auto fails = [](OutputFile& file) -> Status {
    BERTH_TRY(file.write("ne", 2));
    return Failure{Error::kInvalidArgument, "half", "is what there is"};
  };
  EXPECT_FALSE(write_whole_file(path("a"), fails).ok());
  const auto refuse = [](const std::string&) -> Status { return Failure{Error::kInvalidProgram, "a", "is refused"}; };
  const auto fills = [](OutputFile& file) { return file.write("new", 3); };
  EXPECT_FALSE(write_whole_file(path("a"), fills, refuse).ok());
  EXPECT_EQ(content("a"), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFiles, ALinkStaysALink) {
  ASSERT_TRUE(write(path("a"), "old").ok());
  fs::create_directory(folder_ / "in");
  fs::create_symlink("../a", folder_ / "in" / "near");
  fs::create_symlink(folder_ / "in" / "near", folder_ / "far");
  ASSERT_TRUE(write(path("far"), "new").ok());
  EXPECT_EQ(content("a"), "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "far"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "in" / "near"));
}

TEST_F(OutputFiles, ALinkToWhatDoesNotExistYetIsFollowed) {
  fs::create_symlink("later", folder_ / "link");
  ASSERT_TRUE(write(path("link"), "new").ok());
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(content("later"), "new");
}

TEST_F(OutputFiles, LinksInACircleAreAnError) {
  fs::create_symlink("b", folder_ / "a");
  fs::create_symlink("a", folder_ / "b");
  EXPECT_FALSE(write(path("a"), "new").ok());
  EXPECT_TRUE(fs::is_symlink(folder_ / "a"));
  EXPECT_EQ(files(), 2u);
}

TEST_F(OutputFiles, ANewFileHasThePermissionsOfTheOld) {
  ASSERT_TRUE(write(path("a"), "old").ok());
  ASSERT_EQ(::chmod(path("a").c_str(), 04600), 0);
  ASSERT_TRUE(write(path("a"), "new").ok());
  struct stat status;
  ASSERT_EQ(::stat(path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u) << "and it is not run with another's rights";
}

TEST_F(OutputFiles, ALinkThatAnotherUserPlantedIsNotFollowed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make another user's link";
  ASSERT_TRUE(write(path("a"), "old").ok());
  fs::create_directory(folder_ / "shared");
  ASSERT_EQ(::chmod(path("shared").c_str(), 01777), 0);
  fs::create_symlink("../a", folder_ / "shared" / "link");
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::lchown(path("shared/link").c_str(), kNobody, kNobody), 0);
  EXPECT_FALSE(write(path("shared/link"), "new").ok());
  EXPECT_EQ(content("a"), "old");
}

TEST_F(OutputFiles, AKilledProcessLeavesNothing) {
  const int nameless = ::open(folder_.c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (nameless < 0 || ::access("/proc/self/fd", X_OK) != 0) GTEST_SKIP() << "there are no files without a name here";
  ::close(nameless);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto dies = [](OutputFile& file) -> Status {
      const std::string half(3 << 20, 'a');
      BERTH_TRY(file.write(half.data(), half.size()));
      ::_exit(9);
    };
    write_whole_file(path("a"), dies).ok();
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 9);
  EXPECT_EQ(files(), 0u);
  ASSERT_TRUE(write(path("a"), "new").ok());
  EXPECT_EQ(files(), 1u);
}

// `echo header; berth … -o /dev/stdout` into one file.
TEST_F(OutputFiles, ADescriptorIsWrittenBehindWhatIsThere) {
  const int file = ::open(path("a").c_str(), O_WRONLY | O_CREAT, 0666);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::write(file, "before ", 7), 7);
  for (const char* folder : {"/dev/fd/", "/proc/self/fd/"}) {
    const std::string name = folder + std::to_string(file);
    EXPECT_TRUE(is_special_file(name));
    EXPECT_FALSE(is_standard_output(name));
    ASSERT_TRUE(write(name, "new ").ok());
  }
  ASSERT_EQ(::write(file, "behind", 6), 6);
  ::close(file);
  EXPECT_EQ(content("a"), "before new new behind");
  EXPECT_EQ(files(), 1u);
  EXPECT_TRUE(is_standard_output("/dev/stdout"));
  EXPECT_TRUE(is_standard_output("/dev/fd/1"));
  EXPECT_FALSE(is_standard_output("/dev/stderr"));
  EXPECT_FALSE(is_standard_output(path("a")));
  EXPECT_FALSE(is_special_file(path("a")));
}

// The buffer grows from kilobytes to megabytes, and what fills it passes by.
TEST_F(OutputFiles, PiecesOfAllSizesComeInTheirOrder) {
  std::mt19937 random(1);
  std::string expected;
  const auto fills = [&](OutputFile& file) -> Status {
    for (const size_t most : {100, 200000, 5 << 20, 1000, 3 << 20, 100}) {
      for (int i = 0; i < 9; ++i) {
        const std::string piece(random() % most, static_cast<char>('a' + expected.size() % 26));
        BERTH_TRY(file.write(piece.data(), piece.size()));
        expected += piece;
      }
    }
    return Done{};
  };
  ASSERT_TRUE(write_whole_file(path("a"), fills).ok());
  ASSERT_GT(expected.size(), size_t{10} << 20);
  EXPECT_TRUE(content("a") == expected);
}

TEST_F(OutputFiles, AFullDiskIsAnErrorForFewBytesAndForMany) {
  for (const size_t size : {size_t{1}, size_t{1} << 20, size_t{5} << 20}) {
    const auto written = write("/dev/full", std::string(size, 'a'));
    ASSERT_FALSE(written.ok()) << size;
    EXPECT_EQ(written.error().code, Error::kAccessFailed) << size;
  }
}

TEST_F(OutputFiles, WhatAKilledProcessLeftIsNotInTheWay) {
  const std::string left = path("a") + ".tmp" + std::to_string(::getpid());
  std::ofstream(left) << "half";
  std::ofstream(left + ".1") << "half";
  ASSERT_TRUE(write(path("a"), "new").ok());
  EXPECT_EQ(content("a"), "new");
  EXPECT_EQ(files(), 3u);
}

}  // namespace
}  // namespace berth
