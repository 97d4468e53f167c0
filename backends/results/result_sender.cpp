// SPDX-License-Identifier: Apache-2.0
#include "backends/results/result_sender.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "backends/context/host_cache.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/unsent_output.hpp"
#include "backends/results/file_identity.hpp"
#include "launcher/talks/get_talk.hpp"

namespace train {

namespace {

using namespace get_talk;
using Steady = std::chrono::steady_clock;

constexpr int only_permissions = 0777;
// Opening must not block (FIFOs) nor acquire a controlling terminal.
constexpr int file_flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

unsigned mode_of(const struct stat& status) { return status.st_mode & only_permissions; }

bool is_missing(int error) { return error == ENOENT || error == ENOTDIR; }

std::string below(const std::string& folder, const std::string& name) {
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

std::string unreadable(int error) {
  return fmt::format("cannot be read: {}", system_reason(error));
}

// For what is neither file, folder nor link.
std::string kind_words(mode_t mode) {
  if (S_ISSOCK(mode)) return "is a socket";
  if (S_ISFIFO(mode)) return "is a FIFO";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "is a device";
  return "is no file";
}

// Whether the content that was read may have been overwritten. A file that has only grown is
// unchanged up to the old size.
bool has_changed(const struct stat& before, const struct stat& after) {
  if (after.st_size != before.st_size) return after.st_size < before.st_size;
  return after.st_mtim.tv_sec != before.st_mtim.tv_sec ||
         after.st_mtim.tv_nsec != before.st_mtim.tv_nsec;
}

class ResultSender {
 public:
  ResultSender(const std::vector<std::string>& places, const std::string& key, int input,
               int output)
      : places_(places),
        key_(key),
        input_(input),
        output_(output),
        unsent_(output),
        buffer_(longest_get_piece) {
    make_nonblocking(input_);
    make_nonblocking(output_);
  }

  void run() {
    // Runs on after everything was sent: the client ends the connection, and its messages must be
    // read until then.
    while (!is_peer_closed_ && Steady::now() - heard_at_ < longest_get_silence) {
      wait();
      if (may_send()) send_next();
    }
  }

 private:
  // --- The client ---

  bool may_send() const {
    return has_started_ && !is_over_ && !is_peer_closed_ && unsent_.size() < longest_get_piece &&
           sent_ - taken_ < get_window;
  }

  void wait() {
    constexpr int next_look_ms = 500;
    std::array<pollfd, 2> polled{
        {{input_, POLLIN, 0}, {unsent_.is_empty() ? -1 : output_, POLLOUT, 0}}};
    if (::poll(polled.data(), polled.size(), may_send() ? 0 : next_look_ms) <= 0) return;
    if (polled[1].revents != 0) is_peer_closed_ = !unsent_.send_some();
    if (polled[0].revents != 0) receive_some();
  }

  void queue(std::string_view frame) {
    unsent_.add(frame);
    sent_ += frame.size();
  }
  void send(const GetMessage& message) { queue(encode_get(message)); }

  void refuse(std::string why, std::string hint = {}) {
    send(End{std::move(why), std::move(hint)});
    is_over_ = true;
  }

  void send_trouble(const std::string& path, std::string why, bool is_loss = true) {
    send(Trouble{sendable_path(path), std::move(why), is_loss});
  }

  static std::string sendable_path(const std::string& path) {
    return path.size() <= longest_get_path ? path : path.substr(path.size() - longest_get_path);
  }

  void receive_some() {
    std::array<char, 4'096> bytes{};
    const ssize_t count = ::read(input_, bytes.data(), bytes.size());
    if (count < 0 && is_passing(errno)) return;
    is_peer_closed_ = count <= 0;
    if (is_peer_closed_) return;
    heard_at_ = Steady::now();
    decoder_.feed(std::string_view(bytes.data(), static_cast<std::size_t>(count)));
    while (!is_peer_closed_) {
      const auto frame = decoder_.next();
      if (frame && !*frame) return;
      is_peer_closed_ = !frame || !receive(**frame);
    }
  }

  // False when the message breaks the protocol.
  bool receive(const Frame& frame) {
    if (frame.kind != FrameKind::control) return false;
    const auto message = decode_get(frame.payload);
    if (!message) return false;
    if (const auto* start = std::get_if<Start>(&*message)) {
      if (std::exchange(has_started_, true)) return false;
      begin(*start);
      return true;
    }
    if (const auto* taken = std::get_if<Taken>(&*message)) {
      if (taken->bytes < taken_ || taken->bytes > sent_) return false;
      taken_ = taken->bytes;
      return true;
    }
    if (!std::holds_alternative<Alive>(*message)) return false;
    if (!is_over_) send(Alive{});
    return true;
  }

  // --- The answers ---

  void begin(const Start& start) {
    const bool is_absolute = start.path.starts_with('/');
    std::string base = start.directory;
    if (!is_absolute && start.in_context && !base.starts_with('/')) {
      copy_ = find_copy(places_, key_);
      if (!copy_)
        return refuse("the ranks' copy of the context is not there any more",
                      "it stays for seven days after the end of its task, and goes at once where "
                      "no rank has run");
      base = base.empty() ? copy_->path : copy_->path + "/" + base;
    }
    const std::string path = is_absolute ? start.path : below(base, start.path);
    if (is_absolute) base.clear();
    begin_at(path, base);
  }

  // The path that the user names may be a link.
  void begin_at(const std::string& path, const std::string& base) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return refuse_path(path, errno, base);
    if (S_ISDIR(status.st_mode)) return begin_folder(path, base);
    if (S_ISREG(status.st_mode)) return begin_with_file(path, base);
    refuse_kind(path, status.st_mode);
  }

  void begin_folder(const std::string& path, const std::string& base) {
    FolderReader reader(Descriptor(::open(path.c_str(), folder_flags)));
    struct stat status {};
    if (!reader || ::fstat(reader.descriptor(), &status) != 0)
      return refuse_path(path, errno, base);
    send(Found{Kind::folder, sendable_path(path), mode_of(status), 0,
               identity_of(reader.descriptor())});
    folders_.push_back({path, std::move(reader)});
  }

  void begin_with_file(const std::string& path, const std::string& base) {
    Descriptor opened(::open(path.c_str(), file_flags));
    struct stat status {};
    if (!opened || ::fstat(opened.get(), &status) != 0) return refuse_path(path, errno, base);
    if (!S_ISREG(status.st_mode))
      return refuse_kind(path, status.st_mode);  // it was replaced meanwhile
    send(Found{Kind::file, sendable_path(path), mode_of(status),
               static_cast<std::uint64_t>(status.st_size), identity_of(opened.get())});
    begin_file(path, std::move(opened), status);
  }

  void refuse_kind(const std::string& path, mode_t mode) {
    refuse(fmt::format("'{}' {}: only files and folders can be sent", sendable_path(path),
                       kind_words(mode)));
  }

  void refuse_path(const std::string& path, int error, const std::string& base) {
    const std::string hint =
        base.empty()
            ? ""
            : fmt::format("a path without / at its front begins in '{}'", sendable_path(base));
    if (is_missing(error))
      return refuse(fmt::format("'{}' is not there", sendable_path(path)), hint);
    refuse(fmt::format("'{}' {}", sendable_path(path), unreadable(error)));
  }

  void send_next() {
    if (file_) return send_piece();
    if (!folders_.empty()) return send_entry();
    send(End{});
    is_over_ = true;
  }

  void send_entry() {
    Folder& folder = folders_.back();
    const char* const next = folder.reader.next();
    if (next == nullptr) {
      if (errno != 0) send_trouble(folder.path, unreadable(errno));
      send(FolderEnd{});
      folders_.pop_back();
      return;
    }
    const std::string name = next;
    if (is_get_part(name)) return;
    const std::string path = below(folder.path, name);
    const int above = folder.reader.descriptor();
    struct stat status {};
    if (::fstatat(above, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      return report_lost(path, errno);
    if (S_ISLNK(status.st_mode)) return send_link(above, name, path);
    if (S_ISDIR(status.st_mode)) return send_folder(above, name, path, status);
    if (S_ISREG(status.st_mode)) return send_file(above, name, path);
    send_trouble(path, kind_words(status.st_mode), false);
  }

  void report_lost(const std::string& path, int error) {
    send_trouble(path, error == ENOENT ? "has gone while the folder was read" : unreadable(error));
  }

  void send_link(int above, const std::string& name, const std::string& path) {
    std::array<char, longest_get_path + 1> target{};
    const ssize_t length = ::readlinkat(above, name.c_str(), target.data(), target.size());
    if (length <= 0) return report_lost(path, length < 0 ? errno : ENOENT);
    if (static_cast<std::size_t>(length) > longest_get_path)
      return send_trouble(path, "is a link that leads too far");
    send(Entry{Kind::link, name, 0, 0,
               std::string(target.data(), static_cast<std::size_t>(length))});
  }

  void send_folder(int above, const std::string& name, const std::string& path,
                   const struct stat& status) {
    if (folders_.size() > deepest_get_folder)
      return send_trouble(path, fmt::format("lies below more than {} folders", deepest_get_folder));
    Descriptor opened(::openat(above, name.c_str(), folder_flags | O_NOFOLLOW));
    if (!opened) return report_lost(path, errno);
    FolderReader reader(std::move(opened));
    if (!reader) return report_lost(path, errno);
    send(Entry{Kind::folder, name, mode_of(status), 0, {}});
    folders_.push_back({path, std::move(reader)});
  }

  void send_file(int above, const std::string& name, const std::string& path) {
    Descriptor opened(::openat(above, name.c_str(), file_flags | O_NOFOLLOW));
    struct stat status {};
    if (!opened || ::fstat(opened.get(), &status) != 0) return report_lost(path, errno);
    if (!S_ISREG(status.st_mode)) return send_trouble(path, kind_words(status.st_mode), false);
    send(Entry{Kind::file, name, mode_of(status), static_cast<std::uint64_t>(status.st_size), {}});
    begin_file(path, std::move(opened), status);
  }

  void begin_file(std::string path, Descriptor opened, const struct stat& status) {
    (void)::posix_fadvise(opened.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    file_.emplace(File{std::move(path), std::move(opened), status,
                       static_cast<std::uint64_t>(status.st_size)});
  }

  void send_piece() {
    if (file_->left == 0) return end_file();
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(file_->left, buffer_.size()));
    const ssize_t count = read_some(file_->opened.get(), buffer_.data(), wanted);
    if (count < 0) return spoil(unreadable(errno));
    if (count == 0) return spoil("became shorter while it was read");
    const auto size = static_cast<std::size_t>(count);
    queue(encode_frame(FrameKind::output, std::string_view(buffer_.data(), size)));
    file_->left -= size;
  }

  void end_file() {
    // Kernel files (/proc) have length 0, and would arrive empty.
    const bool has_more =
        file_->before.st_size == 0 && read_some(file_->opened.get(), buffer_.data(), 1) > 0;
    struct stat after {};
    if (::fstat(file_->opened.get(), &after) != 0) return spoil(unreadable(errno));
    if (has_changed(file_->before, after)) return spoil("changed while it was read");
    if (has_more && after.st_size == 0)
      return spoil("has content and no length, as files of /proc");
    send(FileEnd{true});
    file_.reset();
  }

  void spoil(std::string why) {
    send_trouble(file_->path, std::move(why));
    send(FileEnd{false});
    file_.reset();
  }

  struct Folder {
    std::string path;
    FolderReader reader;
  };
  struct File {
    std::string path;
    Descriptor opened;
    struct stat before;
    std::uint64_t left;
  };

  const std::vector<std::string>& places_;
  const std::string& key_;
  const int input_;
  const int output_;
  FrameDecoder decoder_{FrameSender::launcher};
  UnsentOutput unsent_;
  std::uint64_t sent_ = 0;   ///< bytes of frames since the beginning
  std::uint64_t taken_ = 0;  ///< bytes that the client has taken
  Steady::time_point heard_at_ = Steady::now();
  bool has_started_ = false;
  bool is_over_ = false;
  bool is_peer_closed_ = false;
  std::optional<HostCache::Copy> copy_;  ///< locked as long as it is read
  std::vector<Folder> folders_;          ///< the open folders, each inside the one before it
  std::optional<File> file_;
  std::vector<char> buffer_;
};

}  // namespace

void send_results(const std::vector<std::string>& places, const std::string& key, int input,
                  int output) {
  ::signal(SIGPIPE, SIG_IGN);
  ResultSender(places, key, input, output).run();
}

}  // namespace train
