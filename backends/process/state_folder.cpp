// SPDX-License-Identifier: Apache-2.0
#include "backends/process/state_folder.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>

#include "backends/posix/files.hpp"
#include "backends/posix/own_folder.hpp"
#include "backends/posix/random.hpp"

namespace train {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_names = 100'000;
constexpr std::size_t random_length = 6;
constexpr std::string_view random_letters = "abcdefghijklmnopqrstuvwxyz234567";
// Another process makes its folder in a millisecond. If it is stopped (SIGSTOP) meanwhile, this is
// how long to wait for it; after that the two may use different folders, but the task goes on.
constexpr auto agreement_limit = 5s;
constexpr int longest_pause_milliseconds = 8;

struct Place {
  std::string path;
  Descriptor descriptor;
};

std::string random_ending() {
  std::string ending;
  for (std::uint64_t bits = random_bits(); ending.size() < random_length; bits >>= 5)
    ending += random_letters[bits % random_letters.size()];
  return ending;
}

bool is_random_ending(std::string_view ending) {
  return ending.size() == random_length && ending.find_first_not_of(random_letters) == ending.npos;
}

bool is_same_folder(int one, int other) {
  struct stat first {};
  struct stat second {};
  return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

// How several processes of the user agree on one folder in a place where other users can interfere:
// A maker creates a folder under a hidden name, locks it (exclusively), and renames it to its final
// name. Then it looks for other folders. If there is one, the maker removes its own and starts
// again; else it turns the lock into a shared one, and from then on the folder is valid for all
// processes. Of two makers at least one sees the other, because each looks only after its own
// folder is visible. A process that finds a folder that is still locked exclusively waits until it
// is valid or gone.
class Search {
 public:
  Search(const std::vector<std::string>& places, const std::string& key)
      : usual_name_(fmt::format("train-{}", ::geteuid())), lock_name_(key + ".lock") {
    for (const std::string& path : places) {
      Descriptor opened(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      if (opened)
        places_.push_back({path, std::move(opened)});
      else
        note(fmt::format("'{}': {}", path, system_reason(errno)));
    }
  }

  Result<StateFolder> run() {
    while (!places_.empty()) {
      Seen seen = look(nullptr);
      if (seen.best && (!seen.is_making || is_late())) return take(*seen.best);
      if (seen.is_making && !is_late()) {
        pause();
        continue;
      }
      auto made = make();
      if (made && *made) return take(**made);
      if (!made) break;
    }
    return fail(ErrorClass::host, "no place for the files of the agent: " + reasons_,
                "have the administrator of this host remove what is in the way, or make room");
  }

 private:
  struct Seen {
    std::optional<StateFolder> best;  ///< the best of the valid folders
    bool is_making = false;           ///< a folder is locked: it is being made, or cleaned
  };

  bool is_late() const { return std::chrono::steady_clock::now() >= deadline_; }

  static void pause() {
    (void)::poll(nullptr, 0, 1 + static_cast<int>(random_bits() % longest_pause_milliseconds));
  }

  void note(const std::string& why) {
    if (reasons_.find(why) == reasons_.npos) reasons_ += (reasons_.empty() ? "" : "; ") + why;
  }

  static Result<StateFolder> take(StateFolder& folder) { return std::move(folder); }

  bool has_key(const StateFolder& folder) const {
    return ::faccessat(folder.descriptor.get(), lock_name_.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  }

  // Takes a shared lock on the folder and adds it to `seen`, unless it is still being made, or was
  // removed meanwhile.
  void consider(Seen& seen, const Place& place, const std::string& name, Descriptor folder) const {
    if (::flock(folder.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      seen.is_making = true;
      return;
    }
    const Descriptor again(::openat(place.descriptor.get(), name.c_str(),
                                    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!again || !is_same_folder(again.get(), folder.get())) return;
    StateFolder found{place.path + "/" + name, std::move(folder)};
    if (!seen.best || (has_key(found) && !has_key(*seen.best))) seen.best = std::move(found);
  }

  // Looks at all existing folders except `own`. Opens `train-UID` first although it has the lowest
  // priority: if its maker has not seen an existing folder with a random name, `train-UID` is
  // younger than that folder, so this look, which reads the random names after that, sees that
  // folder.
  Seen look(const StateFolder* own) const {
    const Place& first = places_.front();
    auto usual =
        open_own_folder(first.descriptor.get(), usual_name_, first.path + "/" + usual_name_);
    Seen seen;
    for (const Place& place : places_)
      for (const std::string& name : random_names(place)) {
        auto folder = open_own_folder(place.descriptor.get(), name, place.path + "/" + name);
        if (!folder) continue;
        if (own != nullptr && is_same_folder(folder->get(), own->descriptor.get())) continue;
        consider(seen, place, name, std::move(*folder));
      }
    const bool is_own =
        usual && own != nullptr && is_same_folder(usual->get(), own->descriptor.get());
    if (usual && !is_own && !seen.best) consider(seen, first, usual_name_, std::move(*usual));
    return seen;
  }

  std::vector<std::string> random_names(const Place& place) const {
    std::vector<std::string> names;
    const std::string beginning = usual_name_ + "-";
    FolderReader folder(place.descriptor.get());
    std::size_t count = 0;
    while (const char* entry = folder && count++ < most_names ? folder.next() : nullptr) {
      const std::string_view name = entry;
      if (name.starts_with(beginning) && is_random_ending(name.substr(beginning.size())))
        names.emplace_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  // `nullopt` when another process was faster and the search begins again; an error when no folder
  // can be made in any place.
  Result<std::optional<StateFolder>> make() {
    for (std::size_t i = 0; i <= places_.size(); ++i) {
      const Place& place = places_[i == 0 ? 0 : i - 1];
      const std::string name = i == 0 ? usual_name_ : usual_name_ + "-" + random_ending();
      auto made = make_in(place, name);
      if (made) return claim(place, name, std::move(*made));
      // Another process of this user may have been first; else another user has the name.
      const auto there = open_own_folder(place.descriptor.get(), name, place.path + "/" + name);
      if (there) return std::optional<StateFolder>();
      if (has_name(place, name)) note(there.error().diagnostics.front().message);
      if (made.error() != EEXIST)
        note(fmt::format("'{}': {}", place.path, system_reason(made.error())));
    }
    return fail(ErrorClass::host, reasons_);
  }

  static bool has_name(const Place& place, const std::string& name) {
    return ::faccessat(place.descriptor.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  }

  // Makes a folder that is exclusively locked from the moment it has its final name; or returns an
  // errno value.
  static tl::expected<StateFolder, int> make_in(const Place& place, const std::string& name) {
    const int parent = place.descriptor.get();
    const std::string hidden = "." + name + "." + random_ending();
    if (::mkdirat(parent, hidden.c_str(), 0700) != 0) return tl::make_unexpected(errno);
    auto folder = open_own_folder(parent, hidden, place.path + "/" + hidden);
    int error = folder ? 0 : EACCES;
    if (folder) (void)::flock(folder->get(), LOCK_EX | LOCK_NB);  // if the file system has locks
    if (folder && !give_name(parent, hidden, name)) error = errno;
    if (error == 0) return StateFolder{place.path + "/" + name, std::move(*folder)};
    (void)::unlinkat(parent, hidden.c_str(), AT_REMOVEDIR);
    return tl::make_unexpected(error);
  }

  static bool give_name(int parent, const std::string& hidden, const std::string& name) {
    if (::renameat2(parent, hidden.c_str(), parent, name.c_str(), RENAME_NOREPLACE) == 0)
      return true;
    // File systems that do not support RENAME_NOREPLACE: a plain rename, which replaces at most an
    // empty folder of this user.
    return errno == EINVAL && ::renameat(parent, hidden.c_str(), parent, name.c_str()) == 0;
  }

  std::optional<StateFolder> claim(const Place& place, const std::string& name, StateFolder own) {
    const Seen others = look(&own);
    if (others.best || (others.is_making && !is_late())) {
      (void)::unlinkat(place.descriptor.get(), name.c_str(), AT_REMOVEDIR);
      pause();
      return std::nullopt;
    }
    (void)::flock(own.descriptor.get(), LOCK_SH | LOCK_NB);
    return own;
  }

  const std::string usual_name_;
  const std::string lock_name_;
  std::vector<Place> places_;
  std::string reasons_;
  const std::chrono::steady_clock::time_point deadline_ =
      std::chrono::steady_clock::now() + agreement_limit;
};

}  // namespace

Result<StateFolder> find_state_folder(const std::vector<std::string>& places,
                                      const std::string& key) {
  return Search(places, key).run();
}

}  // namespace train
