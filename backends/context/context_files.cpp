// SPDX-License-Identifier: Apache-2.0
#include "backends/context/context_files.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "backends/posix/files.hpp"
#include "launcher/context/ignore_rules.hpp"
#include "launcher/context/private_files.hpp"

namespace train {

namespace {

constexpr std::size_t largest_ignore_file = 1u << 20;
constexpr std::size_t most_problems = 100;
constexpr std::size_t most_named = 5;

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&::free)> found(::realpath(path.c_str(), nullptr), ::free);
  return found ? found.get() : "";
}

class Walk {
 public:
  Walk(ContextFiles& files, const std::vector<FileIdentity>& own_output,
       const std::atomic<bool>& cancelled)
      : files_(files),
        own_output_(own_output),
        cancelled_(cancelled),
        real_root_(real_path(files.directory)) {}

  Result<void> run() {
    const int root = files_.root.get();
    const auto detignore = read_rules(root, ".detignore", O_RDONLY);
    if (detignore) add_rules(*detignore, ".detignore", "");
    const auto trainignore = read_rules(root, ".trainignore", O_RDONLY);
    if (trainignore && !rules_.add_last(*trainignore)) too_many_rules(".trainignore");
    has_git_rules_ = !detignore;
    visit(root, "");
    if (std::string warning = warning_of_private_files(private_files_); !warning.empty())
      files_.warnings.insert(files_.warnings.begin(), std::move(warning));
    if (!unreadable_.empty())
      return tl::make_unexpected(Error{ErrorClass::no_input, std::move(unreadable_)});
    if (!unfit_.empty()) return tl::make_unexpected(Error{ErrorClass::config, std::move(unfit_)});
    return {};
  }

 private:
  void visit(int opened, const std::string& folder);
  void enter(int parent, const std::string& name, const std::string& path);
  void look_at(int parent, const std::string& name, const std::string& path);
  void take(ContextEntry entry);
  void take_file(int parent, const std::string& name, const struct stat& status,
                 ContextEntry entry);
  void take_link(int parent, const std::string& name, ContextEntry entry);
  std::optional<std::string> read_rules(int folder, const std::string& path, int flags);
  void add_rules(const std::string& text, const std::string& path, const std::string& folder);
  void too_many_rules(const std::string& path);
  void read_git_rules(int opened, const std::string& folder);
  std::vector<std::string> names_in(int opened, const std::string& folder);
  void unreadable(const std::string& path, int error);
  void unfit(std::string message, std::string hint);
  bool goes_on() const { return !cancelled_ && files_.entries.size() <= most_context_entries; }

  ContextFiles& files_;
  const std::vector<FileIdentity>& own_output_;
  const std::atomic<bool>& cancelled_;
  const std::string real_root_;
  IgnoreRules rules_;
  bool has_git_rules_ = false;
  std::vector<std::string> private_files_;
  std::vector<Diagnostic> unreadable_;
  std::vector<Diagnostic> unfit_;
};

void Walk::unreadable(const std::string& path, int error) {
  if (unreadable_.size() >= most_problems) return;
  unreadable_.push_back(
      make_error(
          ErrorClass::no_input,
          fmt::format("cannot read '{}' of the context: {}", path, system_reason(error)),
          "make it readable, or leave it out: name it in " + ignore_file_of(files_.directory))
          .diagnostics.front());
}

void Walk::unfit(std::string message, std::string hint) {
  if (unfit_.size() >= most_problems) return;
  unfit_.push_back(
      make_error(ErrorClass::config, std::move(message), std::move(hint)).diagnostics.front());
}

// The text of an ignore file; none when there is no such file.
std::optional<std::string> Walk::read_rules(int folder, const std::string& path, int flags) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const Descriptor file(::openat(folder, name.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) {
    if (errno != ENOENT) unreadable(path, errno);
    return std::nullopt;
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  std::string text(largest_ignore_file + 1, '\0');
  const ssize_t size = read_whole(file.get(), text.data(), text.size());
  if (size < 0) unreadable(path, errno);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  if (text.size() <= largest_ignore_file) return text;
  too_many_rules(path);
  return "";
}

void Walk::too_many_rules(const std::string& path) {
  unfit(fmt::format("'{}' of the context has more than 10,000 lines or 1 MiB", path),
        "use patterns, as in *.bin or /data/");
}

void Walk::add_rules(const std::string& text, const std::string& path, const std::string& folder) {
  if (!rules_.add(text, folder)) too_many_rules(path);
}

// Like git, does not follow a link of this name.
void Walk::read_git_rules(int opened, const std::string& folder) {
  const std::string path = folder.empty() ? ".gitignore" : folder + "/.gitignore";
  struct stat status {};
  if (::fstatat(opened, ".gitignore", &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (S_ISLNK(status.st_mode)) {
    files_.warnings.push_back(fmt::format("'{}' is a link, and is not read", path));
    return;
  }
  if (const auto text = read_rules(opened, path, O_RDONLY | O_NOFOLLOW))
    add_rules(*text, path, folder);
}

std::vector<std::string> Walk::names_in(int opened, const std::string& folder) {
  std::vector<std::string> names;
  FolderReader reader(opened);
  // All names may be ignored, so there may be more than a context may have; still, there is a
  // limit.
  while (const char* name =
             reader && names.size() <= 10 * most_context_entries ? reader.next() : nullptr)
    names.emplace_back(name);
  if (errno != 0) unreadable(folder.empty() ? "." : folder, errno);
  std::sort(names.begin(), names.end());
  return names;
}

void Walk::visit(int opened, const std::string& folder) {
  const std::size_t rules_before = rules_.size();
  const std::vector<std::string> names = names_in(opened, folder);
  if (has_git_rules_ && std::binary_search(names.begin(), names.end(), ".gitignore"))
    read_git_rules(opened, folder);
  const std::string prefix = folder.empty() ? "" : folder + "/";
  for (const std::string& name : names) {
    if (!goes_on()) break;
    look_at(opened, name, prefix + name);
  }
  rules_.shrink(rules_before);
}

// Opens every folder relative to its open parent: a folder that is replaced by a link meanwhile is
// not followed.
void Walk::enter(int parent, const std::string& name, const std::string& path) {
  const Descriptor folder(
      ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return unreadable(path, errno);
  visit(folder.get(), path);
}

void Walk::look_at(int parent, const std::string& name, const std::string& path) {
  struct stat status {};
  if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT) unreadable(path, errno);  // else it was removed meanwhile
    return;
  }
  if (rules_.ignores(path, S_ISDIR(status.st_mode))) return;
  if (!is_context_path(path))
    return unfit(fmt::format("the path '{}' of the context is too long or too deep", path),
                 "leave it out: name it in " + ignore_file_of(files_.directory));
  ContextEntry entry{ContextEntry::Kind::file, path, status.st_mode & 0777u, 0, {}};
  if (S_ISDIR(status.st_mode)) {
    entry.kind = ContextEntry::Kind::folder;
    entry.mode |= 0700;  // so that its copy can be filled
    take(std::move(entry));
    return enter(parent, name, path);
  }
  if (S_ISLNK(status.st_mode)) return take_link(parent, name, std::move(entry));
  take_file(parent, name, status, std::move(entry));
}

void Walk::take_file(int parent, const std::string& name, const struct stat& status,
                     ContextEntry entry) {
  const auto leave_out = [&](const char* why) {
    files_.warnings.push_back(
        fmt::format("'{}' is {}, and is left out of the context", entry.path, why));
  };
  if (!S_ISREG(status.st_mode)) return leave_out("no file, folder or link");
  const FileIdentity identity{status.st_dev, status.st_ino};
  if (std::find(own_output_.begin(), own_output_.end(), identity) != own_output_.end())
    return leave_out("what train writes to");
  // Checked before any file is read, so that one error names all unreadable files.
  if (::faccessat(parent, name.c_str(), R_OK, AT_EACCESS) != 0)
    return unreadable(entry.path, errno);
  entry.size = static_cast<std::uint64_t>(status.st_size);
  files_.bytes += std::min(entry.size, UINT64_MAX - files_.bytes);
  if (is_private_file(entry.path)) private_files_.push_back(entry.path);
  take(std::move(entry));
}

void Walk::take(ContextEntry entry) { files_.entries.push_back(std::move(entry)); }

// The link must stay inside the context both as written and as the system resolves it, which differ
// when other links are on its path.
void Walk::take_link(int parent, const std::string& name, ContextEntry entry) {
  char target[PATH_MAX];
  const ssize_t length = ::readlinkat(parent, name.c_str(), target, sizeof target);
  if (length < 0) return unreadable(entry.path, errno);
  entry.kind = ContextEntry::Kind::link;
  entry.mode = 0777;
  entry.target.assign(target, static_cast<std::size_t>(length));
  const std::string followed = real_path(files_.directory + "/" + entry.path);
  const bool leads_out = !followed.empty() && followed != real_root_ &&
                         !followed.starts_with(real_root_ == "/" ? "/" : real_root_ + "/");
  if (is_inside(entry.path, entry.target) && !leads_out) return take(std::move(entry));
  const bool is_absolute = entry.target.starts_with('/');
  unfit(fmt::format("the link '{}' of the context points to '{}', {}", entry.path, entry.target,
                    leads_out || !is_absolute ? "outside of it" : "by an absolute path"),
        leads_out || !is_absolute
            ? "put what it points to there instead, or leave it out: name it in " +
                  ignore_file_of(files_.directory)
            : "make it relative: ln -srf");
}

std::string biggest_files(const std::vector<ContextEntry>& entries) {
  std::vector<const ContextEntry*> files;
  for (const ContextEntry& entry : entries)
    if (entry.kind == ContextEntry::Kind::file) files.push_back(&entry);
  const std::size_t count = std::min(most_named, files.size());
  std::partial_sort(files.begin(), files.begin() + static_cast<std::ptrdiff_t>(count), files.end(),
                    [](const ContextEntry* a, const ContextEntry* b) { return a->size > b->size; });
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text +=
        fmt::format("{}'{}' has {}", i == 0 ? "" : ", ", files[i]->path, size_text(files[i]->size));
  return text;
}

// The top-level folder or file with most entries.
std::string fullest_folder(const std::vector<ContextEntry>& entries) {
  std::map<std::string, std::size_t, std::less<>> counts;
  for (const ContextEntry& entry : entries) ++counts[entry.path.substr(0, entry.path.find('/'))];
  const auto fullest =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return fmt::format("{} of the first {} are in '{}'", fullest->second, entries.size(),
                     fullest->first);
}

}  // namespace

std::string size_text(std::uint64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} bytes", bytes);
  if (bytes < (1u << 20)) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  constexpr std::uint64_t many = std::uint64_t{10} << 30;
  if (bytes < many) return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
}

std::string ignore_file_of(const std::string& directory) { return directory + "/.trainignore"; }

Result<void> check_context_limits(const ContextFiles& files) {
  const std::string hint =
      "leave out what the ranks do not need: name it in " + ignore_file_of(files.directory);
  if (files.entries.size() > most_context_entries)
    return fail(ErrorClass::config,
                fmt::format("the context '{}' has more than {} files and folders; {}",
                            files.directory, most_context_entries, fullest_folder(files.entries)),
                hint);
  if (files.bytes > largest_context)
    return fail(ErrorClass::config,
                fmt::format("the context '{}' has {}, more than the {} that may travel; {}",
                            files.directory, size_text(files.bytes), size_text(largest_context),
                            biggest_files(files.entries)),
                hint);
  return {};
}

Result<ContextFiles> find_context_files(const std::string& directory,
                                        const std::vector<FileIdentity>& own_output,
                                        const std::atomic<bool>& cancelled) {
  ContextFiles files;
  files.directory = directory;
  files.root = Descriptor(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!files.root)
    return fail(ErrorClass::no_input, fmt::format("cannot read the context directory '{}': {}",
                                                  directory, system_reason(errno)));
  if (auto walked = Walk(files, own_output, cancelled).run(); !walked)
    return tl::make_unexpected(walked.error());
  if (cancelled) return fail(ErrorClass::interrupted, "the context is not needed any more");
  std::sort(files.entries.begin(), files.entries.end(),
            [](const ContextEntry& a, const ContextEntry& b) { return a.path < b.path; });
  if (auto fits = check_context_limits(files); !fits) return tl::make_unexpected(fits.error());
  return files;
}

}  // namespace train
