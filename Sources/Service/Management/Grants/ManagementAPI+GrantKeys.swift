import Crypto
import Delivery
import HTTPAPI
import Hummingbird
import Notifications
import Storage
import Trust

// The second keys of grants, and their handles.
extension ManagementAPI {
    /// The kinds of keys, as documents name them.
    static let (provider, client) = ("provider", "client")

    func addGrantKey(
        _ name: String,
        _ request: ManagementMessages.NewGrantKey,
    ) async throws -> ManagementMessages.GrantKeyMade {
        let grant = try known(name, in: accounts.current)
        guard request.kind == Self.provider else {
            guard request.publicKey == nil else {
                throw Problem.invalid("/publicKey", "A client key has no public half.")
            }
            let key = GrantClientKeyEntry(text: GrantClientKey().text, made: now)
            _ = try await accounts.apply(.addGrantClientKey(grant.id, key))
            return ManagementMessages.GrantKeyMade(
                keyID: key.id.rawValue, kind: request.kind, made: key.made.milliseconds, clientKey: key.text,
                privateKey: nil)
        }
        let made = request.publicKey == nil ? P256.Signing.PrivateKey() : nil
        let publicKey = try made?.publicKey ?? Self.publicKey(in: request.publicKey ?? "")
        var random = SystemRandomNumberGenerator()
        let key = GrantProviderKey(
            id: .random(using: &random), publicKey: Array(publicKey.x963Representation), made: now)
        _ = try await accounts.apply(.addGrantKey(grant.id, key))
        return ManagementMessages.GrantKeyMade(
            keyID: key.id.rawValue, kind: request.kind, made: key.made.milliseconds, clientKey: nil,
            privateKey: made?.pemRepresentation)
    }

    func endGrantKey(_ name: String, _ keyID: String) async throws -> ManagementMessages.Grant {
        let grant = try known(name, in: accounts.current)
        guard let key = KeyID(rawValue: keyID) else {
            throw Problem(400, "\(keyID.debugDescription) has to be \(AccountIDs.form).")
        }
        _ = try await accounts.apply(.endGrantKey(grant.id, key))
        return try await self.grant(name)
    }

    static func message(_ key: some GrantKeyKind, _ kind: String) -> ManagementMessages.GrantKey {
        ManagementMessages.GrantKey(keyID: key.id.rawValue, kind: kind, made: key.made.milliseconds)
    }

    // MARK: Handles

    func listHandles(_ call: ManagementCall) async throws -> Response {
        let grant = try known(try call.parameter("id"), in: accounts.current)
        await parts.grantUpkeep.catchUp()
        let sweep = HandleSweep(rules: parts.grantUpkeep.rules, at: parts.clock.time)
        let handles = try await parts.grants.handles(
            of: grant.id, isEnded: call.query("state").map { $0 == "ended" }, sweep,
            // fits: at most APILimits.listItems
            after: call.query("after").flatMap { Handle($0) }, limit: call.limit + 1)
        return ListPage.answer(handles.map { message($0, sweep) }, name: \.handle, call)
    }

    func removeHandle(_ name: String, _ digits: String) async throws -> ManagementMessages.GrantHandle {
        let grant = try known(name, in: accounts.current)
        let sweep = HandleSweep(rules: parts.grantUpkeep.rules, at: parts.clock.time)
        guard let handle = Handle(digits), let stored = try await parts.grants.handles([handle]).first ?? nil,
            stored.grant == grant.id, try await parts.grants.remove(handle, of: grant.id)
        else {
            throw StoreError(
                .missing, "The grant \(name) has no handle \(digits); carillon grant handles \(name) lists them.")
        }
        return message(stored, sweep)
    }

    private func message(_ stored: StoredHandle, _ sweep: HandleSweep) -> ManagementMessages.GrantHandle {
        // Handles have the service's time, and answers the machine's.
        func shown(_ moment: Timestamp) -> UInt64 { parts.clock.clientTime(of: moment).milliseconds }
        return ManagementMessages.GrantHandle(
            handle: stored.handle.description, environment: stored.environment.rawValue,
            state: sweep.end(of: stored) == nil ? "active" : "ended", made: shown(stored.made),
            registered: shown(stored.registered))
    }
}
