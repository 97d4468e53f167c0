// SPDX-License-Identifier: Apache-2.0
#include "launcher/bootstrap/bootstrap_talk.hpp"

#include <fmt/format.h>

#include <utility>

#include "launcher/bootstrap/host_words.hpp"

namespace train {

namespace {

constexpr int max_uploads = 4;  // there are as many places
constexpr std::size_t max_reason = 2000;

constexpr const char* what_is_needed =
    "train needs glibc 2.34 or newer (Debian 12, Ubuntu 22.04, RHEL 9); musl (Alpine) will not do";

bool has(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

tl::unexpected<Error> no_place(const std::string& reason) {
  // What a dynamic loader says: version `GLIBC_2.34' not found.
  if (has(reason, "GLIBC_"))
    return fail(ErrorClass::host,
                fmt::format("the C library of the host is too old for this train: {}", reason),
                what_is_needed);
  // What shells say of a file that is there, but not its loader, and the loader of other libraries.
  if (has(reason, "(it does not run there)") &&
      (has(reason, "not found") || has(reason, "o such file")))
    return fail(ErrorClass::host,
                fmt::format("the host lacks the C library that train needs: {}", reason),
                what_is_needed);
  return fail(ErrorClass::host, fmt::format("no place on the host takes the binary: {}", reason),
              "make room, or a folder that allows programs, in one of these places");
}

}  // namespace

BootstrapTalk::BootstrapTalk(const std::string& nonce, std::string machine)
    : reader_(nonce), machine_(std::move(machine)) {}

Result<BootstrapTalk::Step> BootstrapTalk::next() {
  auto answer = reader_.next();
  if (!answer) return tl::make_unexpected(answer.error());
  if (!*answer) return Step::listen;
  switch ((*answer)->kind) {
    case BootstrapAnswer::Kind::ready:
      client_address_ = (*answer)->client_address;
      host_address_ = (*answer)->host_address;
      return Step::ready;
    case BootstrapAnswer::Kind::failed:
      return no_place(printable((*answer)->reason, max_reason));
    case BootstrapAnswer::Kind::need:
      break;
  }
  return on_need(**answer);
}

Result<BootstrapTalk::Step> BootstrapTalk::on_need(const BootstrapAnswer& answer) {
  if (answer.machine != machine_ || answer.system != "Linux")
    return fail(
        ErrorClass::host,
        fmt::format("the host is a {} {} machine, and this is a train for Linux {}",
                    printable(answer.system, 100), printable(answer.machine, 100), machine_),
        "launch from a machine of the same kind as the hosts");
  if (uploads_++ == max_uploads)
    return fail(ErrorClass::host, "the host asks for the binary again and again",
                "check the free space of its home and /tmp");
  return Step::upload;
}

}  // namespace train
