import Delivery
import HTTPAPI
import Notifications
import Storage

// Finds the items that requests name.
extension ManagementAPI {
    /// Returns `value`, the requested item.
    /// - Parameter kind: the command that lists such items, for the error.
    /// - Throws: ``StoreError/Code/missing`` if `value` is nil.
    func present<Value>(_ value: Value?, _ kind: String, _ id: some CustomStringConvertible) throws -> Value {
        guard let value else {
            throw StoreError(.missing, "There is no \(kind) \(id); carillon \(kind) list shows all of them.")
        }
        return value
    }

    func teamID(_ name: String) throws(Problem) -> TeamID {
        try read(name, .accountID, TeamID.init(rawValue:))
    }

    func keyID(_ name: String) throws(Problem) -> KeyID { try read(name, .accountID, KeyID.init(rawValue:)) }

    /// The identifier of a team or a key that is to be made.
    /// - Parameter pointer: its place in the request's document.
    /// - Throws: with the conformance `strict` for one that a developer account would not assign: the service would accept
    ///   no provider token with it.
    func new<ID: AccountID>(_ name: String, at pointer: String) throws(Problem) -> ID {
        let id: ID = try read(name, .accountID, ID.init(rawValue:))
        guard parts.conformance == .apple || id.isAssigned else {
            throw .invalid(pointer, "The conformance strict takes ten capital letters and digits only.")
        }
        return id
    }

    func bundleID(_ name: String) throws(Problem) -> BundleID { try read(name, .bundleID, BundleID.init(rawValue:)) }

    func environment(_ name: String) throws(Problem) -> Environment {
        try read(name, .environment, Environment.init(rawValue:))
    }

    func serial(_ name: String) throws(Problem) -> CertificateSerial {
        try read(name, .serial) { CertificateSerial($0) }
    }

    func deviceID(_ name: String) throws(Problem) -> DeviceID { try read(name, .deviceID) { DeviceID($0) } }

    /// The digest of the invitation with this ID.
    func invitationDigest(_ name: String) throws(Problem) -> [UInt8] {
        try read(name, .invitationID) { Invitation.digest(withID: $0) }
    }

    /// The schema has already checked the format. This function parses the name with the type's own rule.
    private func read<Name>(
        _ text: String,
        _ format: TextFormat,
        _ make: (String) -> Name?,
    ) throws(Problem) -> Name {
        guard let name = make(text) else {
            throw Problem(400, "\(text.debugDescription) has to be \(format.name).")
        }
        return name
    }
}
