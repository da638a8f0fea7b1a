import APNSProvider
import Foundation
import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications
import CampaignStore

// Requests about messages, which backends send.
extension ProviderAPI {
    func addMessages(to router: Router<BasicRequestContext>) {
        router.post("/v1/messages") { request, _ in try await postMessage(request) }
        router.get("/v1/messages") { request, _ in try await listMessages(request) }
        router.get("/v1/messages/:id") { request, context in
            let (message, app) = try await message(request, context)
            return try await show(message, app, including: Self.query("include", request)).response()
        }
        router.get("/v1/messages/:id/outcomes") { request, context in try await listOutcomes(request, context) }
        router.patch("/v1/messages/:id") { request, context in try await patchMessage(request, context) }
        router.delete("/v1/messages/:id") { request, context in
            let (message, _) = try await message(request, context)
            // A cancelled message may still get the answers to notifications under way.
            await campaigns.stop(message.id)
            try await store.deleteMessage(message.number)
            return Response(status: .noContent)
        }
        for change in MessageChange.allCases {
            router.post(RouterPath("/v1/messages/:id/\(change.rawValue)")) { request, context in
                try await self.change(change, request, context)
            }
        }
    }

    // MARK: Sending

    private func postMessage(_ request: Request) async throws -> Response {
        // The key is checked before a large body is read.
        try access.backend(request)
        let bytes = try await Self.bytes(request, upTo: ProviderServerLimits.bodyBytes)
        let value = try Self.json(bytes)
        var (document, stored) = (try MessageDocument(value), bytes)
        let app = try access.sendingApp(request, bundleID: document.bundleID)
        let idempotency = try Self.idempotency(request, bytes)
        // Whatever has changed since the first request, its repetition gets the same answer.
        if let idempotency, !document.isDryRun,
            let known = try await store.message(app: app.number, idempotency: idempotency)
        {
            return Self.accepted(known, app)
        }
        if let name = document.savedAudience {
            guard let audience = try await store.audience(name, app: app.number) else {
                throw Problem.invalid("/audience/saved", "The app has no saved audience \(name.debugDescription).")
            }
            let complete = try MessageDocument.stored(value, with: audience)
            document = try MessageDocument(complete, isStored: true)
            stored = Array(complete.text.utf8)
        }
        if let environment = document.audience.environment, app.endpoints[environment] == nil {
            throw Problem.invalid("/audience/environment", "The app has no \(environment.rawValue) environment.")
        }
        try document.headers.check(bundleID: app.bundleID, payload: document.template.shared)
        let now = clock.now()
        let starts = try document.start(now: now)
        if document.isDryRun { return try await dryRun(document, app) }
        let message = MessageRecord(
            id: UUID().uuidString.lowercased(), app: app.number, state: .scheduled,
            document: stored, created: now,
            starts: starts, rate: document.rate)
        let added = try await store.add(
            message, idempotency: idempotency, limit: ProviderServerLimits.openMessages)
        await campaigns.runDue()
        return Self.accepted(added, app)
    }

    private static func accepted(_ message: MessageRecord, _ app: ProviderApp) -> Response {
        var response = MessageView.show(message, bundleID: app.bundleID).response(.accepted)
        response.headers[.location] = "/v1/messages/\(message.id)"
        return response
    }

    /// The identifier that the sender chose for the request
    /// (https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/).
    private static func idempotency(_ request: Request, _ bytes: [UInt8]) throws(Problem) -> IdempotencyKey? {
        guard let name = request.headers[.idempotencyKey] else { return nil }
        let limit = ProviderServerLimits.idempotencyKeyBytes
        guard (1...limit).contains(name.utf8.count), DocumentReader.isLine(name) else {
            throw Problem(400, "The header Idempotency-Key has 1 to \(limit) bytes.")
        }
        return IdempotencyKey(name: name, digest: AccessKey.digest(String(decoding: bytes, as: UTF8.self)))
    }

    /// Answers how many recipients the message would have now, and what the first of them would receive.
    private func dryRun(_ document: MessageDocument, _ app: ProviderApp) async throws -> Response {
        var (count, samples): (Int64, [JSONValue]) = (0, [])
        for environment in Environment.sendingOrder where app.endpoints[environment] != nil {
            let query = RecipientQuery(
                app: app.number, message: 0, audience: document.audience, environment: environment)
            count += try await store.count(query)
            let left = ProviderServerLimits.samples - samples.count
            for recipient in try await store.recipients(query, limit: left) {
                samples.append(sample(recipient, document, app))
            }
        }
        return (["dryRun": true, "recipients": .integer(count), "samples": .array(samples)] as JSONValue).response()
    }

    private func sample(_ recipient: Recipient, _ document: MessageDocument, _ app: ProviderApp) -> JSONValue {
        var members: [String: JSONValue] = ["installation": .string(recipient.installation.id)]
        do {
            let notification = try document.notification(
                for: recipient.installation, of: app.bundleID, id: UUID())
            members["topic"] = .string(notification.topic)
            members["payload"] = JSONValue(notification.payload.json)
        } catch let error as MissingValue {
            members["fault"] = .string("There is no value for \(error.name).")
        } catch {
            members["fault"] = .string("\(error)")
        }
        return .object(members)
    }

    // MARK: One message

    /// Returns the message that the path names. A backend can only see messages of its own app.
    private func message(
        _ request: Request,
        _ context: BasicRequestContext,
    ) async throws -> (MessageRecord, ProviderApp) {
        let caller = try access.caller(of: request)
        let id = try Self.parameter("id", context)
        switch caller {
        case .client, .user: throw ProviderAccess.onlyInstallations
        case .administrator, .server: break
        }
        guard let message = try await store.message(id), let app = apps.app(number: message.app) else {
            throw Problem.notFound("There is no message \(id).")
        }
        if case .server(let own) = caller, own.number != app.number {
            throw Problem.notFound("There is no message \(id).")
        }
        return (message, app)
    }

    /// Shows a message.
    /// - Parameter parts: what to add: `recipients`, `request` or both, with a comma between them.
    private func show(_ message: MessageRecord, _ app: ProviderApp, including parts: String?) async throws -> JSONValue
    {
        guard case .object(var members) = MessageView.show(message, bundleID: app.bundleID) else { return .null }
        for part in parts?.split(separator: ",") ?? [] {
            switch part {
            case "recipients": members["recipients"] = .integer(try await recipients(message, app))
            case "request": members["request"] = JSONValue(message.document)
            default: throw Problem(400, "include has to be recipients or request.")
            }
        }
        return .object(members)
    }

    /// Returns how many recipients a message has: those that have an outcome, and those that still wait for theirs.
    /// Outcomes that are stored between the two counts are missing in the sum, so it counts again. A message that is sent
    /// so fast that every count has such outcomes gets the last sum.
    private func recipients(_ message: MessageRecord, _ app: ProviderApp) async throws -> Int64 {
        let audience = try MessageDocument(stored: message.document).audience
        var message = message
        var count: Int64 = 0
        for _ in 0..<Self.counts {
            guard message.state != .finished else { return message.tally.total }
            count = message.tally.total
            for environment in Environment.sendingOrder where app.endpoints[environment] != nil {
                count += try await store.count(
                    RecipientQuery(
                        app: app.number, message: message.number, audience: audience, environment: environment,
                        last: message.position.last ?? .max))
            }
            guard let now = try await store.message(message.id), now.tally.total != message.tally.total else { break }
            message = now
        }
        return count
    }

    /// How often the recipients are counted at most.
    private static let counts = 3

    private func change(
        _ change: MessageChange,
        _ request: Request,
        _ context: BasicRequestContext,
    ) async throws -> Response {
        let (message, app) = try await message(request, context)
        _ = try await store.changeMessage(message.id) { message in
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
            throw Problem.notFound("There is no message \(message.id).")
        }
        return MessageView.show(newest, bundleID: app.bundleID).response()
    }

    /// Changes the rate. Null removes it, as in a JSON Merge Patch.
    private func patchMessage(_ request: Request, _ context: BasicRequestContext) async throws -> Response {
        let (message, app) = try await message(request, context)
        let value = try await Self.document(request, upTo: ProviderServerLimits.installationBytes)
        let reader = try DocumentReader(value, at: "", keys: ["rate"])
        guard case .object(let members) = value, members["rate"] != nil else {
            throw Problem.invalid("", "The key rate is missing; null removes the rate.")
        }
        let rate = try reader.integer("rate", 1...ProviderServerLimits.rate)
        let changed = try await store.changeMessage(message.id) { message in
            guard !message.state.isOver else { throw Problem(409, "The message is \(message.state.rawValue).") }
            message.rate = rate
            return nil
        }
        await campaigns.setRate(rate, of: message.id)
        return MessageView.show(changed ?? message, bundleID: app.bundleID).response()
    }

    private func listMessages(_ request: Request) async throws -> Response {
        let bundleID = Self.query("bundleID", request)
        var number: Int64?
        if case .administrator = try access.caller(of: request), bundleID == nil {
            number = nil
        } else {
            number = try access.sendingApp(request, bundleID: bundleID).number
        }
        let (limit, before) = try Self.page(request)
        var (items, last): ([JSONValue], Int64?) = ([], before)
        while items.count < limit {
            let wanted = min(limit - items.count, ProviderServerLimits.messagesRead)
            let page = try await store.messages(app: number, before: last, limit: wanted)
            items += page.map { MessageView.show($0, bundleID: apps.app(number: $0.app)?.bundleID ?? "") }
            last = page.last?.number ?? last
            guard page.count == wanted else { break }
        }
        return Self.list(items, next: items.count == limit ? last : nil)
    }

    private func listOutcomes(_ request: Request, _ context: BasicRequestContext) async throws -> Response {
        let (message, _) = try await message(request, context)
        let filter = try Self.outcomeFilter(request)
        if let form = try ListForm(of: request) { return exportOutcomes(form, of: message, filter) }
        let (limit, after) = try Self.page(request)
        let page = try await store.outcomes(of: message.number, filter, after: after ?? 0, limit: limit)
        return Self.list(
            page.map { MessageView.show($0, of: message.id) },
            next: page.count == limit ? page.last?.outcome.installation : nil)
    }

    /// Reads the parameters `outcome` and `reason`.
    private static func outcomeFilter(_ request: Request) throws(Problem) -> OutcomeFilter {
        if let reason = query("reason", request) { return .reason(reason) }
        switch query("outcome", request) {
        case nil: return .all
        case "accepted": return .accepted
        case "failed": return .failed
        default: throw Problem(400, "outcome has to be accepted or failed.")
        }
    }
}
