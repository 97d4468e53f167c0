// SPDX-License-Identifier: Apache-2.0
#include "backends/attempt/subreaper_talk.hpp"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "backends/posix/files.hpp"

namespace train {

namespace {

// The descriptors of a start request: the text, standard output and error, and the cgroup if there
// is one.
constexpr std::size_t most_descriptors = 4;

// The packet of a start request. Its text, which can be long, is in an unnamed file: the program,
// the working directory, the arguments, the variables and the CPUs, each terminated by a zero byte.
struct StartQuestion {
  std::uint64_t text_size = 0;
  std::uint32_t attempt = 0;
  std::uint32_t arguments = 0;
  std::uint32_t variables = 0;
  std::uint32_t cpus = 0;
  std::uint32_t has_cgroup = 0;
  std::uint32_t joins_cgroup = 0;
  std::uint32_t has_limit = 0;
  rlimit limit{};
};

struct StartAnswer {
  std::int32_t pid = -1;
  ChildStep failed = ChildStep::none;
  std::int32_t error = 0;
  std::uint32_t has_joined_cgroup = 0;
  std::int64_t there_at = 0;
};

union ControlBytes {
  cmsghdr aligned;
  char bytes[CMSG_SPACE(sizeof(int) * most_descriptors)];
};

bool send_packet(int socket, const void* packet, std::size_t size, const int* descriptors,
                 std::size_t count) {
  iovec part{const_cast<void*>(packet), size};
  ControlBytes control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (count > 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * count);
    std::memcpy(CMSG_DATA(header), descriptors, sizeof(int) * count);
  }
  return uninterrupted([&] { return ::sendmsg(socket, &message, MSG_NOSIGNAL); }) ==
         static_cast<ssize_t>(size);
}

// Stores the descriptors that came with the packet in `descriptors`, from the first element on.
bool receive_packet(int socket, void* packet, std::size_t size,
                    Descriptor (&descriptors)[most_descriptors]) {
  iovec part{packet, size};
  ControlBytes control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  const ssize_t count =
      uninterrupted([&] { return ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC); });
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); count >= 0 && header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    int numbers[most_descriptors];
    const std::size_t received =
        std::min((header->cmsg_len - CMSG_LEN(0)) / sizeof(int), most_descriptors);
    std::memcpy(numbers, CMSG_DATA(header), received * sizeof(int));
    for (std::size_t i = 0; i < received; ++i) descriptors[i].reset(numbers[i]);
  }
  return count == static_cast<ssize_t>(size);
}

std::string text_of(const ProcessSpec& spec) {
  std::string text;
  // Up to the first zero byte, as exec reads it.
  const auto add = [&](const std::string& part) { text.append(part, 0, part.find('\0')) += '\0'; };
  add(spec.program);
  add(spec.working_directory);
  for (const std::string& argument : spec.argv) add(argument);
  for (const std::string& variable : spec.environment) add(variable);
  for (const int cpu : spec.cpus) add(std::to_string(cpu));
  return text;
}

Result<Descriptor> file_with(const std::string& text) {
  Descriptor file(::memfd_create("train rank", MFD_CLOEXEC));
  const int error = file ? write_whole(file.get(), text) : errno;
  if (error == 0) return file;
  return fail(ErrorClass::host, "cannot hand over what a rank is: " + system_reason(error),
              error == EMFILE || error == ENFILE ? "the limit of open files is reached (ulimit -n)"
                                                 : "this host may be out of memory");
}

std::string take_part(std::string_view& text) {
  const std::size_t end = std::min(text.find('\0'), text.size());
  std::string part(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

ProcessSpec spec_in(std::string_view text, const StartQuestion& question) {
  ProcessSpec spec;
  spec.program = take_part(text);
  spec.working_directory = take_part(text);
  for (std::uint32_t i = 0; i < question.arguments; ++i) spec.argv.push_back(take_part(text));
  for (std::uint32_t i = 0; i < question.variables; ++i)
    spec.environment.push_back(take_part(text));
  for (std::uint32_t i = 0; i < question.cpus; ++i)
    spec.cpus.push_back(std::atoi(take_part(text).c_str()));
  return spec;
}

}  // namespace

SubreaperNews news_of(int pid, const ExitStatus& status) {
  SubreaperNews news;
  news.kind = SubreaperNews::Kind::rank_ended;
  news.pid = pid;
  news.code = status.code.value_or(-1);
  news.signal = status.signal.value_or(-1);
  news.dumped_core = status.dumped_core ? 1 : 0;
  news.at = status.at.count();
  news.cpu = status.cpu.count();
  news.largest_memory = status.largest_memory;
  return news;
}

SubreaperNews news_of(const Survivor& survivor) {
  SubreaperNews news;
  news.kind = SubreaperNews::Kind::survivor;
  news.pid = survivor.pid;
  news.uid = survivor.uid;
  survivor.command.copy(news.command, sizeof news.command - 1);
  return news;
}

ExitStatus status_in(const SubreaperNews& news) {
  ExitStatus status;
  if (news.code >= 0) status.code = news.code;
  if (news.signal >= 0) status.signal = news.signal;
  status.dumped_core = news.dumped_core != 0;
  status.at = Instant(news.at);
  status.cpu = nanoseconds(news.cpu);
  status.largest_memory = news.largest_memory;
  return status;
}

Survivor survivor_in(const SubreaperNews& news) { return {news.pid, news.uid, news.command}; }

void SubreaperTalk::send(const SubreaperCommand& command) { send(&command, sizeof command); }

void SubreaperTalk::send(const SubreaperNews& news) {
  send(&news, offsetof(SubreaperNews, command) + ::strnlen(news.command, sizeof news.command));
}

void SubreaperTalk::send(const void* record, std::size_t size) {
  waiting_.emplace_back(static_cast<const char*>(record), size);
  flush();
}

void SubreaperTalk::flush() {
  while (!waiting_.empty()) {
    const std::string& record = waiting_.front();
    const ssize_t sent = uninterrupted([&] {
      return ::send(socket_.get(), record.data(), record.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    });
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS)) return;
    if (sent < 0) return waiting_.clear();  // records of the other side may still be readable
    waiting_.pop_front();
  }
}

std::optional<SubreaperCommand> SubreaperTalk::receive_command() {
  SubreaperCommand command;
  if (!receive(&command, sizeof command)) return std::nullopt;
  return command;
}

std::optional<SubreaperNews> SubreaperTalk::receive_news() {
  SubreaperNews news;
  if (!receive(&news, sizeof news)) return std::nullopt;
  news.command[sizeof news.command - 1] = '\0';
  return news;
}

bool SubreaperTalk::receive(void* record, std::size_t size) {
  if (is_over_) return false;
  const auto receive_once = [&] {
    return uninterrupted([&] { return ::recv(socket_.get(), record, size, MSG_DONTWAIT); });
  };
  ssize_t count = receive_once();
  // ECONNRESET: the other side has closed with unread records. Its own records can still be read
  // after that.
  if (count < 0 && errno == ECONNRESET) count = receive_once();
  is_over_ = count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
  return count > 0;
}

Result<std::optional<ChildAnswer>> ask_for_child(int socket, const ChildRequest& request,
                                                 std::uint32_t attempt) {
  const std::string text = text_of(request.spec);
  auto file = file_with(text);
  if (!file) return tl::make_unexpected(file.error());
  StartQuestion question;
  question.text_size = text.size();
  question.attempt = attempt;
  question.arguments = static_cast<std::uint32_t>(request.spec.argv.size());
  question.variables = static_cast<std::uint32_t>(request.spec.environment.size());
  question.cpus = static_cast<std::uint32_t>(request.spec.cpus.size());
  question.has_cgroup = request.cgroup >= 0 ? 1 : 0;
  question.joins_cgroup = request.joins_cgroup ? 1 : 0;
  question.has_limit = request.open_files != nullptr ? 1 : 0;
  if (request.open_files != nullptr) question.limit = *request.open_files;
  const int descriptors[] = {file->get(), request.output, request.errors, request.cgroup};
  if (!send_packet(socket, &question, sizeof question, descriptors,
                   request.cgroup >= 0 ? most_descriptors : most_descriptors - 1)) {
    if (errno == EPIPE || errno == ECONNRESET) return std::nullopt;
    return fail(ErrorClass::host, "cannot hand over what a rank is: " + system_reason(errno));
  }
  StartAnswer answer;
  Descriptor none[most_descriptors];
  if (!receive_packet(socket, &answer, sizeof answer, none)) return std::nullopt;
  ChildAnswer result;
  result.child.pid = answer.pid;
  result.child.failed = answer.failed;
  result.child.error = answer.error;
  result.child.has_joined_cgroup = answer.has_joined_cgroup != 0;
  result.there_at = Instant(answer.there_at);
  return result;
}

std::optional<AskedChild> await_child_request(int socket) {
  StartQuestion question;
  Descriptor descriptors[most_descriptors];
  if (!receive_packet(socket, &question, sizeof question, descriptors)) return std::nullopt;
  AskedChild asked;
  std::string text(question.text_size, '\0');
  const bool is_whole =
      descriptors[2] && read_whole_at(descriptors[0].get(), text.data(), text.size(), 0) ==
                            static_cast<ssize_t>(text.size());
  asked.attempt = question.attempt;
  asked.error = is_whole ? 0 : EMFILE;
  asked.spec = spec_in(text, question);
  asked.output = std::move(descriptors[1]);
  asked.errors = std::move(descriptors[2]);
  if (question.has_cgroup != 0) asked.cgroup = std::move(descriptors[3]);
  if (question.has_limit != 0) asked.open_files = question.limit;
  asked.joins_cgroup = question.joins_cgroup != 0;
  return asked;
}

bool answer_child_request(int socket, const ChildAnswer& answer) {
  StartAnswer packet;
  packet.pid = answer.child.pid;
  packet.failed = answer.child.failed;
  packet.error = answer.child.error;
  packet.has_joined_cgroup = answer.child.has_joined_cgroup ? 1 : 0;
  packet.there_at = answer.there_at.count();
  return send_packet(socket, &packet, sizeof packet, nullptr, 0);
}

}  // namespace train
