// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/ssh_config_files.hpp"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "backends/posix/files.hpp"

namespace train {

namespace {

constexpr std::size_t max_file = 4u << 20;
constexpr std::size_t max_files = 1000;
constexpr int max_depth = 16;  // ssh's own

enum class Read { done, missing, failed };

Read read_file(const std::string& path, std::string& text) {
  // Non-blocking, so that opening a FIFO does not wait.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return errno == ENOENT || errno == ENOTDIR ? Read::missing : Read::failed;
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return Read::failed;
  text.resize(max_file + 1);
  const ssize_t size = read_whole(file.get(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return size < 0 || text.size() > max_file ? Read::failed : Read::done;
}

class Reader {
 public:
  explicit Reader(std::string home) : home_(std::move(home)) {}

  // `folder` is where relative includes are.
  bool add(const std::string& path, const std::string& folder, int depth) {
    std::string text;
    const Read read = ++files_ > max_files ? Read::failed : read_file(path, text);
    if (read == Read::missing) return false;
    if (read == Read::failed) {
      outline_.add_unknown();
      return true;
    }
    for (const std::string& include : outline_.add(text)) add_included(include, folder, depth + 1);
    return true;
  }
  SshConfigOutline take() { return std::move(outline_); }

 private:
  void add_included(const std::string& include, const std::string& folder, int depth) {
    std::string pattern = include;
    const bool is_own_home = pattern.starts_with("~/");
    if (is_own_home) pattern.replace(0, 1, home_);
    const bool is_known = pattern.find_first_of("%$~") == std::string::npos;
    if (pattern.empty() || !is_known || depth > max_depth) return outline_.add_unknown();
    if (pattern.front() != '/') pattern = folder + "/" + pattern;
    glob_t found{};
    const int result = ::glob(pattern.c_str(), 0, nullptr, &found);
    if (result != 0 && result != GLOB_NOMATCH) outline_.add_unknown();
    for (std::size_t i = 0; i < found.gl_pathc; ++i) add(found.gl_pathv[i], folder, depth);
    ::globfree(&found);
  }

  std::string home_;
  SshConfigOutline outline_;
  std::size_t files_ = 0;
};

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

std::optional<SshConfigOutline> outline_ssh_config(const std::string& user_file,
                                                   const std::string& system_file,
                                                   const std::string& home) {
  Reader reader(home);
  const bool has_user_file = !user_file.empty() && reader.add(user_file, folder_of(user_file), 0);
  const bool has_system_file =
      !system_file.empty() && reader.add(system_file, folder_of(system_file), 0);
  if (!has_user_file && !has_system_file) return std::nullopt;
  return reader.take();
}

}  // namespace train
