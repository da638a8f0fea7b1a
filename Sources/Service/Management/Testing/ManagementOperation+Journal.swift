import Foundation
import HTTPAPI
import HTTPTypes
import Hummingbird
import Journal
import Matching
import Notifications

// Reads, follows and switches the journal of providers' requests.
extension ManagementOperations {
    static let journal = [
        ManagementOperation(
            method: .get, path: "/v1/journal", summary: "How many requests the journal keeps; 0 if it is off",
            answer: .json(ManagementMessages.Journal.schema)
        ) { api, _ in
            .json(ManagementMessages.Journal(keep: try api.testing("The journal").journal.keep))
        },
        ManagementOperation(
            method: .put, path: "/v1/journal", summary: "Switch the journal on or off",
            body: Body(reading: ManagementMessages.Journal.schema), answer: .json(ManagementMessages.Journal.schema),
            problems: [413, 415]
        ) { api, call in
            let message: ManagementMessages.Journal = try call.message()
            return .json(try api.setJournal(message))
        },
        ManagementOperation(
            method: .get, path: "/v1/requests", summary: "What providers sent, oldest request first",
            parameters: matchParameters + [
                .query("follow", .boolean, "Whether the answer continues with new requests, one line for each."),
                .query(
                    "changes", .boolean,
                    "With follow: whether the answer has only new requests, and repeats a request when it changes."),
                .query(
                    "sample", .boolean,
                    "With follow and changes: whether a busy stream shows only some requests, at most \(JournalLimits.maximumSampled) "
                        + "at a time, and reports the number of the others as {\"leftOut\":n}."),
                .query("limit", .integer(1...Int64(APILimits.listItems)), "How many at most."),
            ],
            answer: .json(
                .array(ManagementSchemas.request),
                others: [StreamForm.lines.mediaType, StreamForm.events.mediaType])
        ) { api, call in
            try api.requests(call)
        },
        ManagementOperation(
            method: .delete, path: "/v1/requests", summary: "Forget what providers sent",
            parameters: matchParameters, answer: .json(ManagementMessages.DeletedRequests.schema)
        ) { api, call in
            let count = try api.testing("The journal").journal.clear(call.match())
            return .json(ManagementMessages.DeletedRequests(deleted: count))
        },
        ManagementOperation(
            method: .post, path: "/v1/requests/wait", summary: "Wait until providers have sent something",
            body: Body(reading: ManagementMessages.Wait.schema, isOptional: true),
            answer: .json(ManagementSchemas.waited),
            problems: [409, 413, 415, 503], otherAnswers: [408: ManagementSchemas.waitedInVain]
        ) { api, call in
            try await api.wait(call)
        },
    ]

    /// The keys of a match, as parameters of the query.
    private static let matchParameters: [Parameter] = RequestMatch.Member.allCases.map { key -> Parameter in
        let schema: Schema
        switch key {
        case .status: schema = .integer(0...599)
        case .after: schema = .integer(0...Int64.max)
        default: schema = .string(.any)
        }
        let meaning = key == .payload ? "A JSON object; the payload must contain all of its members." : "As in a match."
        return .query(key.rawValue, schema, meaning)
    }
}

extension ManagementCall {
    /// The match that the query's parameters describe.
    fileprivate func match() throws(Problem) -> RequestMatch {
        var members = JSONMembers()
        for key in RequestMatch.Member.allCases {
            guard let text = query(key.rawValue) else { continue }
            switch key {
            // fits: nil if it does not
            case .status, .after: members[key.rawValue] = Int64(text).map(JSONValue.integer)
            case .payload:
                guard let payload = JSONValue(Array(text.utf8)) else {
                    throw Problem(400, "payload is \(text.debugDescription). The value has to be a JSON object.")
                }
                members[key.rawValue] = payload
            default: members[key.rawValue] = .string(text)
            }
        }
        do throws(MatchError) {
            return try RequestMatch(.object(members)).checked()
        } catch {
            throw Problem(400, "\(error.pointer.dropFirst()): \(error.detail)")
        }
    }
}

extension RequestMatch {
    /// Returns the match itself.
    /// - Throws: if the match names the production environment. The journal has no requests of production, so it
    ///   would match nothing.
    fileprivate func checked(at pointer: String = "") throws(MatchError) -> RequestMatch {
        guard environment != .production else {
            throw MatchError(
                pointer + "/environment", "The journal contains only requests of the development environment.")
        }
        return self
    }
}

extension ManagementAPI {
    fileprivate func setJournal(_ message: ManagementMessages.Journal) throws -> ManagementMessages.Journal {
        let testing = try testing("The journal")
        // The order matters. Switching off: first stop watching, then remove the requests. Switching on: first make
        // room, then watch.
        if message.keep == 0 { testing.observation.set(.journal, false) }
        testing.journal.setKeep(message.keep)
        if message.keep > 0 { testing.observation.set(.journal, true) }
        return ManagementMessages.Journal(keep: testing.journal.keep)
    }

    fileprivate func requests(_ call: ManagementCall) throws -> Response {
        let journal = try testing("The journal").journal
        let match = try call.match()
        // fits: at most APILimits.listItems
        guard call.isOn("follow") else { return page(journal.requests(match, limit: call.limit + 1), call) }
        let (permit, form) = (try streams.acquire(), StreamForm(call.request))
        if call.isOn("sample"), call.isOn("changes") {
            let stream = SampledRequestStream(
                journal: journal, match: match, form: form, share: backlog.makeShare(),
                whenOver: { call.caller.whenOver($0) })
            return form.answer(permit) { try await stream.write(to: &$0) }
        }
        let entries = journal.follow(match, changes: call.isOn("changes")) { call.caller.whenOver($0) }
        let stream = RequestStream(
            entries: entries, form: form, limit: call.query("limit") == nil ? .max : call.limit)
        return form.answer(permit) { try await stream.write(to: &$0) }
    }

    private func page(_ entries: [JournalEntry], _ call: ManagementCall) -> Response {
        let shown = entries.prefix(call.limit)
        let text = "[" + shown.map(\.json).joined(separator: ",") + "]"
        var response = Response(.ok, MediaType.json, text: text)
        if entries.count > call.limit, let last = shown.last {
            response.headers[.link] = call.link(after: "\(last.facts.number)")
        }
        return response
    }

    /// Waits until enough matching requests have arrived, but no longer than the request's timeout.
    fileprivate func wait(_ call: ManagementCall) async throws -> Response {
        let message: ManagementMessages.Wait = try call.message()
        let journal = try testing("The journal").journal
        let match: RequestMatch
        do throws(MatchError) {
            match = try RequestMatch(message.match ?? [:], at: "/match").checked(at: "/match")
        } catch {
            throw Problem.invalid(error.pointer, error.detail)
        }
        guard let timeout = Duration(iso8601: message.timeout ?? "PT5S"), timeout <= ManagementLimits.wait else {
            throw Problem.invalid(
                "/timeout", "The value has to be a duration like PT5S, at most 10 minutes.")
        }
        // Nobody would know what was sent, so a wait for nothing must not succeed, and another one need not wait.
        guard journal.keep > 0 else {
            throw Problem(
                409,
                "The journal is off, so nobody knows what was sent: start the service with --journal 10000, or switch it on "
                    + "with PUT /v1/journal.")
        }
        let permit = try streams.acquire()
        defer { withExtendedLifetime(permit) {} }
        let result = await journal.wait(
            for: match, count: message.count ?? 1, limit: APILimits.listItems, timeout: timeout
        ) { finish in
            call.caller.whenOver(finish)
        }
        return try Self.answer(result)
    }

    private static func answer(_ result: WaitResult) throws(Problem) -> Response {
        switch result {
        case .done(let entries):
            let text = #"{"requests":["# + entries.map(\.json).joined(separator: ",") + "]}"
            return Response(.ok, MediaType.json, text: text)
        case .timedOut(let matched, let nearest, let failed, let dropped):
            let requests = nearest.map { entry, differs in
                #"{"request":\#(entry.json),"differs":["# + differs.map(JSONString.quoted).joined(separator: ",") + "]}"
            }
            let text =
                #"{"matched":\#(matched),"nearest":["# + requests.joined(separator: ",") + #"],"failed":["#
                + failed.map(\.json).joined(separator: ",") + #"],"dropped":\#(dropped)}"#
            return Response(.requestTimeout, MediaType.json, text: text)
        case .ended:
            throw Problem(503, "The service has ended during the wait: start it again, and run the test again.")
        }
    }
}
