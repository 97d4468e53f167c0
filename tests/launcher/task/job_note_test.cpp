// SPDX-License-Identifier: Apache-2.0
#include "launcher/task/job_note.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("the note of a job survives being written") {
  const JobNote note{.task = "k3wqk3wq",
                     .job = "12",
                     .name = "digits",
                     .slots = "0.5",
                     .user = "ann",
                     .program = "/opt/train",
                     .created = 1'700'000'000'000};
  const auto read = decode_job_note(encode_job_note(note));
  REQUIRE(read);
  CHECK(*read == note);
  CHECK_FALSE(decode_job_note("{}"));
  CHECK_FALSE(decode_job_note("k3wq"));
}
