// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "backends/context/context_archive.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

namespace train {

inline const std::atomic<bool> not_cancelled{false};

/// A directory to be filled and packed.
class Tree : public TemporaryDirectory {
 public:
  std::string at(const std::string& name) const { return path() + "/" + name; }
  void write(const std::string& name, const std::string& text, unsigned mode = 0644) const {
    std::filesystem::create_directories(std::filesystem::path(at(name)).parent_path());
    std::ofstream(at(name), std::ios::binary) << text;
    REQUIRE(::chmod(at(name).c_str(), mode) == 0);
  }
  void make(const std::string& name, unsigned mode = 0755) const {
    std::filesystem::create_directories(at(name));
    REQUIRE(::chmod(at(name).c_str(), mode) == 0);
  }
  void link(const std::string& name, const std::string& target) const {
    REQUIRE(::symlink(target.c_str(), at(name).c_str()) == 0);
  }
  void age(const std::string& name, std::chrono::hours age) const {
    const timespec times[2] = {{::time(nullptr) - std::chrono::seconds(age).count(), 0},
                               {::time(nullptr) - std::chrono::seconds(age).count(), 0}};
    REQUIRE(::utimensat(AT_FDCWD, at(name).c_str(), times, AT_SYMLINK_NOFOLLOW) == 0);
  }
  bool has(const std::string& name) const {
    struct stat status {};
    return ::lstat(at(name).c_str(), &status) == 0;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(at(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// The names in a folder of it.
  std::vector<std::string> names(const std::string& folder) const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(at(folder)))
      found.push_back(entry.path().filename().string());
    return found;
  }
};

inline ArchivedContext archived(const std::string& directory) {
  auto context = archive_context(directory, {}, not_cancelled);
  if (!context) FAIL(render(context.error()));
  return std::move(*context);
}

inline std::vector<std::string> pieces_of(const std::string& archive) {
  std::vector<std::string> pieces;
  ContextCompressor compressor(archive);
  do pieces.push_back(compressor.next());
  while (pieces.back().size() == context_piece_size);
  return pieces;
}

inline std::string random_bytes(std::mt19937& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

}  // namespace train
