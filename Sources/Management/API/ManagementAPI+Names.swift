import Delivery
import Notifications

// How names in requests are read.
extension ManagementAPI {
    /// What was asked for.
    /// - Parameter kind: the command that has a list of them.
    /// - Throws: ``StoreError/Code/missing`` if there is no such thing.
    func present<Value>(_ value: Value?, _ kind: String, _ id: some CustomStringConvertible) throws -> Value {
        guard let value else {
            throw StoreError(.missing, "There is no \(kind) \(id); carillon \(kind) list shows those that there are.")
        }
        return value
    }

    func teamID(_ name: String) throws(Problem) -> TeamID {
        try read(name, .tenCharacters, TeamID.init(rawValue:))
    }

    func keyID(_ name: String) throws(Problem) -> KeyID { try read(name, .tenCharacters, KeyID.init(rawValue:)) }

    func bundleID(_ name: String) throws(Problem) -> BundleID { try read(name, .bundleID, BundleID.init(rawValue:)) }

    func environment(_ name: String) throws(Problem) -> Environment {
        try read(name, .environment, Environment.init(rawValue:))
    }

    func serial(_ name: String) throws(Problem) -> CertificateSerial {
        try read(name, .serial) { CertificateSerial($0) }
    }

    func deviceID(_ name: String) throws(Problem) -> DeviceID { try read(name, .deviceID) { DeviceID($0) } }

    /// Schemas have checked the format before; this is where a type says the same.
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
