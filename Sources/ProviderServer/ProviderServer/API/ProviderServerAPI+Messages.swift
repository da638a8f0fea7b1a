import APNSProvider
import Foundation
import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications
import CampaignStore

// Requests about messages, which backends send.
extension ProviderServerAPI {
    private static let id = Parameter.path("id", .identifier, "The message.")

    static let messageOperations: [ProviderOperation] =
        [
            ProviderOperation(
                method: .post, path: "/v1/messages", summary: "Send a message",
                parameters: Parameter.app + [
                    .query(
                        "wait", .string(.duration),
                        "How long to wait for the end of the message, such as PT5S. The answer then has the outcomes.")
                ],
                body: Body(
                    reading: ProviderMessages.MessageRequest.form.schema, maximumBytes: ProviderServerLimits.bodyBytes),
                answer: .json(ProviderMessages.Message.schema, status: 202),
                headers: ["Location": "The path of the message."],
                problems: [404, 409, 413], otherAnswers: [200: ProviderMessages.messageOrDryRun]
            ) { api, call in
                try await api.postMessage(call)
            },
            ProviderOperation(
                method: .get, path: "/v1/messages", summary: "List messages, the newest first",
                parameters: Parameter.app + Parameter.page, answer: .json(.page(of: ProviderMessages.Message.schema)),
                problems: [404]
            ) { api, call in
                try await api.listMessages(call)
            },
            ProviderOperation(
                method: .get, path: "/v1/messages/{id}", summary: "Show a message with its progress",
                parameters: [
                    id,
                    .query(
                        "include", .string(.parts), "What to add: recipients, request, or both with a comma between."),
                ],
                answer: .json(ProviderMessages.Message.schema), problems: [404]
            ) { api, call in
                let (message, app) = try await api.message(call)
                return try await api.show(message, app, including: call.query("include"))
            },
            ProviderOperation(
                method: .get, path: "/v1/messages/{id}/outcomes", summary: "List the outcomes of a message",
                parameters: [id] + Parameter.page + [
                    .query("outcome", .string(.oneOf(["accepted", "failed"])), "Only these."),
                    .query("reason", .string(.any), "Only failures with this reason."), exportFormat,
                ],
                answer: .json(.page(of: ProviderMessages.Outcome.schema), others: ListForm.allCases.map(\.rawValue)),
                problems: [404]
            ) { api, call in
                try await api.listOutcomes(call)
            },
            ProviderOperation(
                method: .patch, path: "/v1/messages/{id}", summary: "Change the rate of a message", parameters: [id],
                body: Body(
                    reading: ProviderMessages.MessagePatch.schema, maximumBytes: ProviderServerLimits.installationBytes),
                answer: .json(ProviderMessages.Message.schema), problems: [404, 409, 413]
            ) { api, call in
                try await api.patchMessage(call)
            },
            ProviderOperation(
                method: .delete, path: "/v1/messages/{id}", summary: "Delete a message that has ended",
                parameters: [id], answer: .nothing, problems: [404, 409]
            ) { api, call in
                let (message, _) = try await api.message(call)
                // A cancelled message may still get the answers to notifications under way.
                await api.campaigns.stop(message.id)
                try await api.store.deleteMessage(message.number)
                return Response(status: .noContent)
            },
        ]
        + MessageChange.allCases.map { change in
            ProviderOperation(
                method: .post, path: "/v1/messages/{id}/\(change.rawValue)", summary: change.summary,
                parameters: [id], answer: .json(ProviderMessages.Message.schema), problems: [404, 409]
            ) { api, call in
                try await api.change(change, call)
            }
        }

    // MARK: Sending

    private func postMessage(_ call: ProviderCall) async throws -> Response {
        let value = call.document
        var (definition, stored) = (try MessageDefinition(value), call.body)
        let app = try access.sendingApp(call, bundleID: definition.bundleID)
        let wait = try Self.wait(call)
        let idempotency = try Self.idempotency(call)
        // Whatever has changed since the first request, its repetition gets the same answer.
        if let idempotency, !definition.isDryRun,
            let known = try await store.message(app: app.number, idempotency: idempotency)
        {
            return try await answer(known, app, within: wait)
        }
        if let name = definition.savedAudience {
            guard let audience = try await store.audience(name, app: app.number) else {
                throw Problem.invalid("/audience/saved", "The app has no saved audience \(name.debugDescription).")
            }
            let complete = try MessageDefinition.stored(value, with: audience)
            definition = try MessageDefinition(complete, isStored: true)
            stored = Array(complete.text.utf8)
        }
        try app.checkEnvironment(definition.audience.environment, at: "/audience/environment")
        if definition.channel == nil {
            try definition.headers.check(bundleID: app.bundleID, payload: definition.template.shared)
        } else {
            _ = try definition.broadcast(id: UUID())
            try app.checkEnvironment(definition.audience.environment ?? .production, at: "/audience/environment")
        }
        let place = try definition.place(of: app.bundleID)
        let now = clock.now()
        let starts = try definition.start(now: now)
        if definition.isDryRun { return try await dryRun(definition, app, place) }
        let message = MessageRecord(
            id: UUID().uuidString.lowercased(), app: app.number, state: .scheduled, document: stored, created: now,
            starts: starts, rate: definition.rate)
        let added = try await store.add(
            message, idempotency: idempotency, limit: ProviderServerLimits.openMessages)
        await campaigns.runDue()
        return try await answer(added, app, within: wait)
    }

    /// Reads how long the answer may wait for the end of the message; nil if it does not wait.
    private static func wait(_ call: ProviderCall) throws(Problem) -> Duration? {
        guard let text = call.query("wait") else { return nil }
        let longest = ProviderServerLimits.waitSeconds
        guard let wait = Duration(iso8601: text), wait <= .seconds(longest) else {
            throw Problem(400, "wait has to be a duration such as PT5S, of \(longest) seconds at most.")
        }
        return wait
    }

    /// Answers that a message is on the disk. If the answer may wait and the message ends in this time, it has the first
    /// outcomes.
    private func answer(_ added: MessageRecord, _ app: ProviderApp, within wait: Duration?) async throws -> Response {
        var (message, outcomes): (MessageRecord, [KeptOutcome]?) = (added, nil)
        if let wait {
            await campaigns.waitForEnd(of: added.id, for: wait)
            message = try await store.message(added.id) ?? added
            outcomes = try await store.outcomes(
                of: message.number, .all, after: 0, limit: ProviderServerLimits.answeredOutcomes)
        }
        var shown = ProviderMessages.Message(
            message, bundleID: app.bundleID, cause: await campaigns.cause(of: message.id))
        shown.outcomes = outcomes?.map { ProviderMessages.Outcome($0, of: message.id) }
        var response = Response.json(shown, wait != nil && !message.state.isOpen ? .ok : .accepted)
        response.headers[.location] = "/v1/messages/\(message.id)"
        return response
    }

    /// The identifier that the sender chose for the request
    /// (https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/).
    private static func idempotency(_ call: ProviderCall) throws(Problem) -> IdempotencyKey? {
        guard let name = call.request.headers[.idempotencyKey] else { return nil }
        let limit = ProviderServerLimits.idempotencyKeyBytes
        guard TextFormat.line(maximumBytes: limit).allows(name) else {
            throw Problem(400, "The header Idempotency-Key has 1 to \(limit) bytes.")
        }
        // A client may write the members in another order when it repeats the request.
        return IdempotencyKey(
            name: name, digest: AccessKey.digest(call.document.canonicalText),
            digestOfBytes: AccessKey.digest(String(decoding: call.body, as: UTF8.self)))
    }

    /// Answers how many recipients the message would have now, and what the first of them would receive.
    private func dryRun(
        _ definition: MessageDefinition,
        _ app: ProviderApp,
        _ place: ServiceTokens.Place?,
    ) async throws -> Response {
        // Only the service knows who subscribes to a channel.
        guard definition.channel == nil else {
            return (["dryRun": true, "recipients": 1, "samples": []] as JSONValue).response()
        }
        var (count, samples): (Int64, [JSONValue]) = (0, [])
        for query in app.recipientQueries(definition.audience, now: clock.now()) {
            count += try await store.count(query)
            let left = ProviderServerLimits.samples - samples.count
            for recipient in try await store.recipients(query, limit: left) {
                samples.append(sample(recipient, definition, app, place))
            }
        }
        return (["dryRun": true, "recipients": .integer(count), "samples": .array(samples)] as JSONValue).response()
    }

    private func sample(
        _ recipient: Recipient,
        _ definition: MessageDefinition,
        _ app: ProviderApp,
        _ place: ServiceTokens.Place?,
    ) -> JSONValue {
        var members: JSONMembers = ["installation": .string(recipient.installation.id)]
        if let place, recipient.installation.token(place) == nil { members["fault"] = .string(place.failureReason) }
        do {
            let notification = try definition.notification(
                for: recipient.installation, of: app.bundleID, id: UUID(), message: Self.sampleMessage)
            members["topic"] = .string(notification.topic)
            members["payload"] = JSONValue(notification.payload.json)
        } catch let error as MissingValue {
            members["fault"] = .string("There is no value for \(error.name).")
        } catch {
            members["fault"] = .string("\(error)")
        }
        return .object(members)
    }

    /// What a dry run shows in place of a message's identifier.
    private static let sampleMessage = "00000000-0000-0000-0000-000000000000"

    // MARK: One message

    /// Returns the message that the path names. A backend can only see messages of its own app.
    private func message(_ call: ProviderCall) async throws -> (MessageRecord, ProviderApp) {
        let id = try call.parameter("id")
        guard let message = try await store.message(id), let app = apps.app(number: message.app) else {
            throw Self.noMessage(id)
        }
        if case .server(let own) = call.caller, own.number != app.number {
            throw Self.noMessage(id)
        }
        return (message, app)
    }

    private static func noMessage(_ id: String) -> Problem { .notFound("There is no message \(id).") }

    /// Shows a message.
    /// - Parameter parts: what to add: `recipients`, `request` or both, with a comma between them.
    private func show(
        _ message: MessageRecord,
        _ app: ProviderApp,
        including parts: String?,
    ) async throws -> Response {
        var shown = ProviderMessages.Message(
            message, bundleID: app.bundleID, cause: await campaigns.cause(of: message.id))
        let parts = parts?.split(separator: ",") ?? []
        if parts.contains("recipients") { shown.recipients = try await recipients(message, app) }
        if parts.contains("request") {
            shown.request = JSONValue(message.document, maximumDepth: APILimits.documentDepth)
        }
        return .json(shown)
    }

    /// Returns how many recipients a message has: those that have an outcome, and those that still wait for theirs.
    private func recipients(_ message: MessageRecord, _ app: ProviderApp) async throws -> Int64 {
        let definition = try MessageDefinition(stored: message.document)
        guard definition.channel == nil else { return 1 }
        guard message.state != .finished else { return message.tally.total }
        let waiting = app.recipientQueries(
            definition.audience, now: message.starts, message: message.number, last: message.position.last)
        return try await store.recipientCount(of: message.number, waiting: waiting)
    }

    private func change(_ change: MessageChange, _ call: ProviderCall) async throws -> Response {
        let (message, app) = try await message(call)
        let demandPrompt = store.promptness()
        _ = try await store.changeMessage(message.id) { message in
            try demandPrompt()
            try change.apply(to: &message)
            return nil
        }
        if change == .resume {
            await campaigns.runDue()
        } else {
            // First wait for the answers to the notifications under way, so that the counts below are final. The wait
            // has a limit.
            await campaigns.stop(message.id)
        }
        guard let newest = try await store.message(message.id) else {
            throw Self.noMessage(message.id)
        }
        return try await show(newest, app, including: nil)
    }

    /// Changes the rate. Null removes it, as in a JSON Merge Patch.
    private func patchMessage(_ call: ProviderCall) async throws -> Response {
        let (message, app) = try await message(call)
        // Here, null does not count as missing.
        let rate = try ProviderMessages.MessagePatch.form.read(call.document).rate
        let demandPrompt = store.promptness()
        let changed = try await store.changeMessage(message.id) { message in
            try demandPrompt()
            guard !message.state.isOver else { throw Problem(409, "The message is \(message.state.rawValue).") }
            message.rate = rate
            return nil
        }
        await campaigns.setRate(rate, of: message.id)
        return try await show(changed ?? message, app, including: nil)
    }

    private func listMessages(_ call: ProviderCall) async throws -> Response {
        let isOfAllApps = if case .administrator = call.caller { call.query("bundleID") == nil } else { false }
        let number = try isOfAllApps ? nil : access.sendingApp(call).number
        let causes = await campaigns.causes
        var (items, last): ([ProviderMessages.Message], Int64?) = ([], call.after)
        while items.count < call.limit {
            let wanted = min(call.limit - items.count, ProviderServerLimits.messagesRead)
            let page = try await store.messages(app: number, before: last, limit: wanted)
            items += page.map {
                let bundleID = apps.app(number: $0.app)?.bundleID ?? ""
                return ProviderMessages.Message($0, bundleID: bundleID, cause: causes[$0.id])
            }
            last = page.last?.number ?? last
            guard page.count == wanted else { break }
        }
        return Self.list(items, next: items.count == call.limit ? last : nil)
    }

    private func listOutcomes(_ call: ProviderCall) async throws -> Response {
        let (message, _) = try await message(call)
        let filter = Self.outcomeFilter(call)
        if let form = ListForm(of: call) { return exportOutcomes(form, of: message, filter) }
        let page = try await store.outcomes(of: message.number, filter, after: call.after ?? 0, limit: call.limit)
        return Self.list(
            page.map { ProviderMessages.Outcome($0, of: message.id) },
            next: call.next(after: page, \.outcome.installation))
    }

    /// Reads the parameters `outcome` and `reason`.
    private static func outcomeFilter(_ call: ProviderCall) -> OutcomeFilter {
        if let reason = call.query("reason") { return .reason(reason) }
        switch call.query("outcome") {
        case "accepted": return .accepted
        case "failed": return .failed
        default: return .all
        }
    }
}

extension TextFormat {
    /// A duration of seconds and minutes.
    fileprivate static let duration = TextFormat(
        "a duration such as PT5S", pattern: "^PT(?:[0-9]{1,2}M)?(?:[0-9]{1,3}(?:\\.[0-9]{1,3})?S)?$"
    ) { Duration(iso8601: $0) != nil }

    /// What a message may be shown with.
    fileprivate static let parts = TextFormat(
        "recipients, request, or both with a comma between",
        pattern: "^(?:recipients|request)(?:,(?:recipients|request))?$"
    ) { text in
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        return parts.count <= 2 && parts.allSatisfy { $0 == "recipients" || $0 == "request" }
    }
}
