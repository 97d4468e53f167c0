// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/ticket_fields.hpp"

namespace train {

std::string encode_ticket(const TicketRecord& record) { return line_of_fields(record); }

Result<TicketRecord> decode_ticket(std::string_view text) {
  return decode_fields<TicketRecord>(text, longest_ticket_record,
                                     "what a task that waits says of itself is not understood");
}

}  // namespace train
