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
        guard let id = TeamID(rawValue: name) else {
            throw Problem(400, "\(name.debugDescription) is not a team ID: ten capital letters and digits.")
        }
        return id
    }

    func keyID(_ name: String) throws(Problem) -> KeyID {
        guard let id = KeyID(rawValue: name) else {
            throw Problem(400, "\(name.debugDescription) is not a key ID: ten capital letters and digits.")
        }
        return id
    }

    func bundleID(_ name: String) throws(Problem) -> BundleID {
        guard let bundleID = BundleID(rawValue: name) else {
            throw Problem(400, "\(name.debugDescription) is not a bundle ID: letters, digits, hyphens and periods.")
        }
        return bundleID
    }

    func environment(_ name: String) throws(Problem) -> Environment {
        guard let environment = Environment(rawValue: name) else {
            throw Problem(400, "\(name.debugDescription) is neither development nor production.")
        }
        return environment
    }

    func serial(_ name: String) throws(Problem) -> CertificateSerial {
        guard let serial = CertificateSerial(name) else {
            throw Problem(400, "\(name.debugDescription) is not a serial: 32 hexadecimal digits.")
        }
        return serial
    }
}
