import Delivery
import DeliveryLogFiles
import HTTPAPI
import Hummingbird
import Journal
import Notifications

// The delivery log.
extension ManagementOperations {
    static let log = [
        ManagementOperation(
            method: .get, path: "/v1/log", summary: "The delivery log, oldest entry first",
            parameters: [
                .query(
                    "follow", .boolean, "Whether the answer continues with later events, until the client closes it."),
                .query(
                    "sample", .boolean,
                    "With follow: whether a busy log shows some notifications only, \(ManagementLimits.sampledEntries) new "
                        + "ones four times a second, and says {\"leftOut\":n} of the other entries."),
                .query("id", .string(.uuid), "Only the notification with this identifier (apns-id)."),
                .query("token", .string(.hexadecimal), "Only notifications to this device token."),
                .query("team", .string(.accountID), "Only notifications to apps of this team."),
                .query("limit", .integer(1...Int64(Int32.max)), "How many entries at most; all if it is not given."),
                .query(
                    "after", .string(.logMark),
                    "Only what happened after this moment, in milliseconds since 1970, or stands after this position, "
                        + "the id of an event."),
            ],
            answer: .other([StreamForm.lines.mediaType, StreamForm.events.mediaType])
        ) { api, call in
            if let answer = try await api.clusterLog(call) { return answer }
            return try api.streamLog(call)
        }
    ]
}

extension TextFormat {
    /// A time, or a position in the delivery log.
    fileprivate static let logMark = TextFormat(
        "a moment in milliseconds since 1970, or the id of an event",
        pattern: "^[0-9]{1,18}(?:-[0-9]{1,18}-[0-9]{1,18})?$"
    ) { UInt64($0) != nil || LogPosition($0) != nil }
}

extension ManagementAPI {
    /// The entries of all nodes about one notification, in the order of their times.
    /// - Returns: nil if something else is asked for, or if there are no other nodes.
    fileprivate func clusterLog(_ call: ManagementCall) async throws -> Response? {
        let form = StreamForm(call.request)
        let asksForMore = ["token", "team", "limit", "after"].contains { call.query($0) != nil }
        guard let id = call.query("id").flatMap({ NotificationID($0) }), let otherLogs = parts.otherLogs,
            form == .lines, !call.isOn("follow"), !asksForMore
        else { return nil }
        async let others = otherLogs(id)
        let own = try await parts.log.lines(of: id, limit: ManagementLimits.entriesOfOne)
        let other = try await others
        let (lines, unanswered) = (ClusterLog.merged(own + other.lines), other.unanswered)
        let all = unanswered.isEmpty ? lines : lines + [ClusterLog.line(unanswered: unanswered)]
        return Response(.ok, form.mediaType, text: all.map { $0 + "\n" }.joined())
    }

    fileprivate func streamLog(_ call: ManagementCall) throws -> Response {
        let form = StreamForm(call.request)
        // A browser that connects again sends the identifier of its last event (HTML, 9.2).
        let mark = call.request.headers[.lastEventID] ?? call.query("after")
        let stream = LogStream(
            source: parts.log,
            accounts: parts.accounts,
            form: form,
            filter: LogFilter(
                notification: call.query("id").flatMap { NotificationID($0) },
                token: call.query("token")?.lowercased(),
                team: call.query("team").flatMap(TeamID.init(rawValue:)),
                after: mark.flatMap { UInt64($0) }),  // fits: nil if it does not
            position: mark.flatMap { LogPosition($0) },
            isFollowing: call.isOn("follow"),
            limit: call.query("limit") == nil ? .max : call.limit,
            isSampled: call.isOn("sample") && call.isOn("follow"),
            share: backlog.makeShare(),
            whenOver: { call.caller.whenOver($0) },
        )
        let permit = stream.isFollowing ? try streams.acquire() : nil
        return form.answer(permit) { try await stream.write(to: &$0) }
    }
}
