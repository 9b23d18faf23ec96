// Plug-ins that are wrong: each ends in a sentence that says what is wrong with which.
#include "plugin/load_plugin.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>

#include "base/device.h"

namespace berth {
namespace {

int32_t takes(void*, const berth_graph*, const berth_spec*, size_t, berth_message*) { return BERTH_OK; }
int32_t preprocess(void*, const berth_graph*, const berth_spec*, size_t, const berth_sink*, berth_message*) {
  return BERTH_OK;
}

berth_target good_target() {
  berth_target target = {};
  target.size = sizeof target;
  target.name = "mine";
  target.backend = "acme.mine";
  target.takes = takes;
  target.preprocess = preprocess;
  return target;
}

berth_allocator good_allocator() {
  berth_allocator a = {};
  a.size = sizeof a;
  a.device_type = 100;
  a.allocate = [](void*, size_t, int32_t, size_t, void**) -> int32_t { return BERTH_OK; };
  a.deallocate = [](void*, void*, int32_t) {};
  a.copy_host_to_device = [](void*, void*, const void*, size_t, int32_t, berth_stream) -> int32_t { return BERTH_OK; };
  a.copy_device_to_host = a.copy_host_to_device;
  a.copy_device_to_device = [](void*, void*, int32_t, const void*, int32_t, size_t, berth_stream) -> int32_t {
    return BERTH_OK;
  };
  return a;
}

berth_backend good_backend() {
  berth_backend backend = {};
  backend.size = sizeof backend;
  backend.name = "acme.mine";
  backend.serves = [](void*, int32_t) -> int32_t { return 1; };
  backend.load = [](void*, const berth_delegate*, void**, berth_message*) -> int32_t { return BERTH_OK; };
  backend.execute = [](void*, void*, const berth_tensor*, size_t, berth_stream, berth_message*) -> int32_t {
    return BERTH_OK;
  };
  backend.unload = [](void*, void*) {};
  return backend;
}

// A plug-in for one call: the entry point is a plain function, so what it shall do is kept here.
std::function<int32_t(const berth_host*, berth_plugin*)> act;
int32_t entry(const berth_host* host, berth_plugin* plugin) { return act(host, plugin); }

// Plug-ins that were refused are not remembered, so one function may be tried again and again.
Failure refused() {
  const auto plugin = Plugin::adopt(entry, "test");
  EXPECT_FALSE(plugin.ok());
  return plugin.ok() ? Failure() : plugin.error();
}

std::string said_of_target(const std::function<void(berth_target&)>& bend) {
  static berth_target target;
  target = good_target();
  bend(target);
  act = [](const berth_host*, berth_plugin* plugin) {
    static const berth_target* const list[] = {&target};
    plugin->targets = list;
    plugin->num_targets = 1;
    return int32_t{BERTH_OK};
  };
  const Failure failure = refused();
  EXPECT_EQ(failure.code, Error::kInvalidArgument);
  return failure.text();
}

TEST(LoadPlugin, TargetsThatAreWrong) {
  EXPECT_EQ(said_of_target([](berth_target& t) { t.name = nullptr; }).find("plug-in test: target 0: its name is not"),
            0u);
  for (const char* name : {"", "Mine", "a:b", "a,b", "a=b", "0a", "a b", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}) {
    EXPECT_NE(said_of_target([&](berth_target& t) { t.name = name; }).find("its name is not"), std::string::npos);
  }
  for (const char* none : {"", static_cast<const char*>(nullptr)}) {
    EXPECT_EQ(
        said_of_target([&](berth_target& t) { t.backend = none; }),
        "plug-in test: target mine: names no backend, so it makes no delegates: it can have neither preprocess nor "
        "a device");
  }
  EXPECT_EQ(
      said_of_target([](berth_target& t) { t.backend = "berth.cpu"; }),
      "plug-in test: target mine: its backend is berth.cpu, and names that begin with berth. are those of backends "
      "for nested programs");
  for (const int32_t type : {-1, 2, 98, 126, 256, 100 + 256}) {
    EXPECT_NE(said_of_target([&](berth_target& t) { t.device_type = type; }).find("does not exist"), std::string::npos)
        << type;
  }
  static const std::string long_name(121, 'n');
  EXPECT_NE(said_of_target([](berth_target& t) { t.backend = long_name.c_str(); }).find("has more than 120 characters"),
            std::string::npos);
  EXPECT_EQ(said_of_target([](berth_target& t) { t.takes = nullptr; }), "plug-in test: target mine: takes is missing");
  EXPECT_NE(said_of_target([](berth_target& t) { t.preprocess = nullptr; })
                .find("without preprocess its delegates are nested programs, whose backends have names that begin with "
                      "berth."),
            std::string::npos);
  for (const size_t alignment : {size_t{3}, size_t{8192}, SIZE_MAX}) {
    EXPECT_NE(said_of_target([&](berth_target& t) { t.alignment = alignment; }).find("is not a power of two"),
              std::string::npos);
  }
  EXPECT_NE(said_of_target([](berth_target& t) { t.padding = SIZE_MAX; }).find("is more than"), std::string::npos);
  for (const size_t size : {size_t{0}, size_t{8}, offsetof(berth_target, fuses) - 1}) {
    EXPECT_NE(said_of_target([&](berth_target& t) { t.size = size; }).find("its size is too small"), std::string::npos);
  }
}

TEST(LoadPlugin, AllocatorsAndBackendsThatAreWrong) {
  static berth_allocator allocator;
  static berth_backend backend;
  const auto said = [](const std::function<void()>& bend) {
    allocator = good_allocator();
    backend = good_backend();
    bend();
    act = [](const berth_host*, berth_plugin* plugin) {
      static const berth_allocator* const allocators[] = {&allocator};
      static const berth_backend* const backends[] = {&backend};
      plugin->allocators = allocators;
      plugin->num_allocators = 1;
      plugin->backends = backends;
      plugin->num_backends = 1;
      return int32_t{BERTH_OK};
    };
    return refused().text();
  };
  EXPECT_NE(said([] { allocator.device_type = 0; }).find("allocator 0: its device type 0"), std::string::npos);
  EXPECT_NE(said([] { allocator.device_type = 126; }).find("allocator 0: its device type 126"), std::string::npos);
  EXPECT_NE(said([] { allocator.allocate = nullptr; }).find("is missing"), std::string::npos);
  EXPECT_NE(said([] { allocator.size = 16; }).find("its size is too small"), std::string::npos);
  EXPECT_NE(said([] {
              allocator.synchronize = [](void*, berth_stream, int32_t) -> int32_t { return BERTH_OK; };
            }).find("some functions of streams are missing"),
            std::string::npos);
  EXPECT_NE(said([] { backend.name = nullptr; }).find("backend 0: has no name"), std::string::npos);
  static const std::string long_name(121, 'n');
  EXPECT_NE(said([] { backend.name = long_name.c_str(); }).find("has more than 120 characters"), std::string::npos);
  EXPECT_NE(said([] { backend.name = "berth.sim"; }).find("are those of backends for nested"), std::string::npos);
  EXPECT_NE(said([] { backend.execute = nullptr; }).find("is missing"), std::string::npos);
  EXPECT_NE(said([] { backend.size = 0; }).find("its size is too small"), std::string::npos);
}

TEST(LoadPlugin, ListsThatLie) {
  const auto said = [](const std::function<void(berth_plugin*)>& bend) {
    act = [&](const berth_host*, berth_plugin* plugin) {
      bend(plugin);
      return int32_t{BERTH_OK};
    };
    return refused().text();
  };
  EXPECT_NE(said([](berth_plugin* p) { p->num_targets = 1; }).find("one of its lists is null"), std::string::npos);
  EXPECT_NE(said([](berth_plugin* p) { p->num_backends = SIZE_MAX; }).find("expected at most 64"), std::string::npos);
  static const berth_target* const nulls[] = {nullptr};
  EXPECT_NE(said([](berth_plugin* p) {
              p->targets = nulls;
              p->num_targets = 1;
            }).find("target 0: is null"),
            std::string::npos);
  static const berth_device_type wrong[] = {{"cuda", 110}};
  EXPECT_NE(said([](berth_plugin* p) {
              p->device_types = wrong;
              p->num_device_types = 1;
            }).find(std::string("belongs to another type; there are ") + device_type_names()),
            std::string::npos);
  static const berth_device_type nameless[] = {{nullptr, 110}};
  EXPECT_NE(said([](berth_plugin* p) {
              p->device_types = nameless;
              p->num_device_types = 1;
            }).find("expected a number from 100 to 127"),
            std::string::npos);
}

TEST(LoadPlugin, OneThatRefusesOrThrowsSaysWhy) {
  act = [](const berth_host*, berth_plugin* plugin) {
    std::snprintf(plugin->message.text, sizeof plugin->message.text, "needs a licence");
    return int32_t{BERTH_NOT_SUPPORTED};
  };
  EXPECT_EQ(refused().code, Error::kNotSupported);
  EXPECT_EQ(refused().text(), "plug-in test: needs a licence");
  act = [](const berth_host*, berth_plugin*) { return int32_t{12345}; };
  EXPECT_EQ(refused().code, Error::kInternal);
  act = [](const berth_host*, berth_plugin*) -> int32_t { throw std::runtime_error("no board"); };
  EXPECT_EQ(refused().text(), "plug-in test: the plug-in threw an exception: no board");
  act = [](const berth_host*, berth_plugin*) -> int32_t { throw 1; };
  EXPECT_NE(refused().text().find("of an unknown kind"), std::string::npos);
  act = [](const berth_host*, berth_plugin* plugin) {
    std::fill(std::begin(plugin->message.text), std::end(plugin->message.text), 'x');  // no final zero
    return int32_t{BERTH_INTERNAL};
  };
  EXPECT_EQ(refused().message, std::string(sizeof(berth_message), 'x'));
}

TEST(LoadPlugin, FilesThatAreNotPlugIns) {
  EXPECT_EQ(Plugin::open("no/such.so").error().code, Error::kNotFound);
  const std::string path = ::testing::TempDir() + "/not_a_library.so";
  std::ofstream(path) << "text";
  EXPECT_EQ(Plugin::open(path).error().code, Error::kAccessFailed);
  EXPECT_NE(Plugin::open(path).error().text().find("cannot be loaded"), std::string::npos);
  std::remove(path.c_str());
  EXPECT_EQ(Plugin::open(::testing::TempDir()).error().code, Error::kAccessFailed);
  EXPECT_EQ(Plugin::open("").error().code, Error::kNotFound);
}

// The fear: the loader maps what the headers say, and the process ends at the first byte behind the file.
TEST(LoadPlugin, ALibraryThatWasCopiedHalfwayIsAnError) {
  std::ifstream whole("/proc/self/exe", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(whole)), std::istreambuf_iterator<char>());
  const std::string path = ::testing::TempDir() + "/half.so";
  for (const size_t size : {20, 80, 8192}) {  // within the header, behind it, behind the list of segments
    std::ofstream(path, std::ios::binary) << bytes.substr(0, size);
    const auto plugin = Plugin::open(path);
    ASSERT_FALSE(plugin.ok());
    EXPECT_EQ(plugin.error().code, Error::kAccessFailed);
    if (size == 20) continue;  // the loader says so itself
    EXPECT_NE(plugin.error().text().find("the file ends before the library does"), std::string::npos) << size;
  }
  std::remove(path.c_str());
}

// The fear: what a plug-in says moves the cursor of a terminal, or looks like several messages.
TEST(LoadPlugin, WhatItSaysIsOneLine) {
  berth_message message;
  std::memset(message.text, 'x', sizeof message.text);
  std::memcpy(message.text, "a\n\x1b[31mb\x7f", 9);
  EXPECT_EQ(text_of(message), "a  [31mb " + std::string(sizeof message.text - 9, 'x'));
  EXPECT_EQ(one_line(&message), "a  [31mb " + std::string(sizeof message.text - 10, 'x')) << "with its final zero";
}

// An older header knew less at the end of a structure, a newer one more.
TEST(LoadPlugin, StructuresOfOtherSizesAreReadAsFarAsTheyGo) {
  struct Larger {
    berth_allocator known;
    void* later;
  };
  static Larger larger = {good_allocator(), nullptr};
  larger.known.size = sizeof larger;
  larger.known.is_gpu = 1;
  static berth_allocator older = good_allocator();
  older.size = offsetof(berth_allocator, device_count);
  older.is_gpu = 1;                                         // beyond what it says that it has
  older.device_count = [](void*) -> int32_t { return 7; };  // beyond what it says that it has
  act = [](const berth_host* host, berth_plugin* plugin) {
    EXPECT_EQ(host->version, BERTH_PLUGIN_VERSION);
    static const berth_allocator* const list[] = {&larger.known, &older};
    plugin->name = "sizes";
    plugin->allocators = list;
    plugin->num_allocators = 2;
    return int32_t{BERTH_OK};
  };
  const auto plugin = Plugin::adopt(entry, "test");
  ASSERT_TRUE(plugin.ok()) << plugin.error().text();
  EXPECT_EQ((*plugin)->name(), "sizes");
  ASSERT_EQ((*plugin)->allocators().size(), 2u);
  EXPECT_NE((*plugin)->allocators()[0].allocate, nullptr);
  EXPECT_EQ((*plugin)->allocators()[1].device_count, nullptr);
  EXPECT_EQ((*plugin)->allocators()[0].is_gpu, 1);
  EXPECT_EQ((*plugin)->allocators()[1].is_gpu, 0);
  EXPECT_EQ(*Plugin::adopt(entry, "again"), *plugin) << "a plug-in is asked once";
}

}  // namespace
}  // namespace berth
