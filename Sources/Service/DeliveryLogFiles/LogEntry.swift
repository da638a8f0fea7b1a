package import Delivery
package import Notifications

/// A record of the delivery log as people see it, in `carillon log` and in the management API.
package struct LogEntry: Sendable, Hashable {
    package let time: Timestamp
    /// The name of the event, or "lost".
    package let event: String
    package let notification: NotificationID?
    /// The device token in hexadecimal digits; nil if it is not known.
    package let token: String?
    /// The topic; empty if it is not known.
    package let topic: String
    /// More about the event: the reason of a rejection, or the notification that replaced this one.
    package let detail: Detail?
    /// The status of an upstream's answer.
    package let status: UInt16?
    /// What this service would have answered, if the upstream's answer differs from it.
    package let own: String?
    /// How many events were lost; nil if the record is an event.
    package let lost: UInt64?

    package struct Detail: Sendable, Hashable {
        package let name: String
        package let value: String
    }

    /// - Parameter token: returns the device token of an address, in hexadecimal digits. It is needed because a
    ///   record does not contain the device token, but only the values that are sealed in it, and the number of the
    ///   key that sealed it (0 if it is not known).
    package init(_ record: LogRecord, token: (NotificationSubject.Address, _ key: UInt32) -> String?) {
        switch record {
        case .lost(let count, let time):
            self.time = time
            event = "lost"
            notification = nil
            self.token = nil
            topic = ""
            detail = nil
            status = nil
            own = nil
            lost = count
        case .event(let event, let tokenKey):
            time = event.time
            self.event = event.step.kind.name
            notification = event.subject.id
            self.token = token(event.subject.address, tokenKey)
            topic = event.subject.topic
            detail = Detail(event.step)
            if case .answered(let answered, _, let own) = event.step {
                (status, self.own) = (answered, own)
            } else {
                (status, own) = (nil, nil)
            }
            lost = nil
        }
    }

    /// The entry as one line of JSON. `time` is in milliseconds since 1970, as in the provider API's `timestamp`. If
    /// a value is not known, its key is left out.
    package var json: String {
        var text = #"{"time":\#(time.milliseconds),"event":"\#(event)""#
        if let notification { text += #","id":"\#(notification.textAsSent.span.text)""# }
        if let token { text += #","token":"\#(token)""# }
        if !topic.isEmpty { text += #","topic":\#(JSONString.quoted(topic))"# }
        if let status { text += #","status":\#(status)"# }
        // An upstream's reason may be any text.
        if let detail { text += #","\#(detail.name)":\#(JSONString.quoted(detail.value))"# }
        if let own { text += #","own":"\#(own)""# }
        if let lost { text += #","count":\#(lost)"# }
        return text + "}"
    }
}

extension LogEntry.Detail {
    fileprivate init?(_ step: DeliveryStep) {
        switch step {
        case .rejected(let reason): self.init(name: "reason", value: reason.rawValue)
        case .replaced(let id): self.init(name: "by", value: "\(id)")
        case .coalesced(let id): self.init(name: "into", value: "\(id)")
        case .discarded(let reason): self.init(name: "reason", value: reason.rawValue)
        case .answered(_, let reason?, _): self.init(name: "reason", value: reason)
        case .accepted, .stored, .deferred, .throttled, .sent, .acknowledged, .expired, .duplicate, .forwarded,
            .answered,
            .held, .dropped:
            return nil
        }
    }
}
