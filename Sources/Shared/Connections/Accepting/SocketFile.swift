import Foundation
import NIOCore
import NIOPosix

/// The path of a Unix socket on which a server wants to listen.
package enum SocketFile {
    /// Why a server cannot listen at a path.
    package struct Refusal: Error, Sendable, Hashable {
        package enum Code: Sendable, Hashable {
            /// The path is longer than the system allows.
            case tooLong(bytes: Int, limit: Int)
            /// Another file is at the path.
            case notSocket
            /// The socket belongs to another user.
            case ofOtherUser
            /// A running process accepts connections there.
            case inUse
        }

        package let code: Code
        package let path: String

        /// A sentence for a person.
        package var cause: String {
            switch code {
            case .tooLong(let bytes, let limit):
                "The socket's path \(path) has \(bytes) bytes, and the system allows \(limit)."
            case .notSocket: "\(path) exists and is not a socket."
            case .ofOtherUser: "The socket \(path) belongs to another user."
            case .inUse: "Another process answers at \(path)."
            }
        }
    }

    /// Removes a socket that a killed server has left. Does not remove files of other kinds.
    /// - Parameter user: the user to whom such a socket has to belong; nil for any.
    package static func prepare(_ path: String, user: UInt32? = nil) async throws(Refusal) {
        // The system's limit includes the terminating zero byte (sys/un.h).
        let limit = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
        guard path.utf8.count <= limit else {
            throw Refusal(code: .tooLong(bytes: path.utf8.count, limit: limit), path: path)
        }
        // If the attributes cannot be read, there is no file, which is the usual case.
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { return }
        guard attributes[.type] as? FileAttributeType == .typeSocket else {
            throw Refusal(code: .notSocket, path: path)
        }
        let owner = (attributes[.ownerAccountID] as? NSNumber)?.uint32Value
        guard user == nil || owner == user else { throw Refusal(code: .ofOtherUser, path: path) }
        // If a connection is accepted, a running process uses the socket.
        guard await !answers(path) else { throw Refusal(code: .inUse, path: path) }
        unlink(path)
    }

    /// Whether a process accepts connections at the socket.
    private static func answers(_ path: String) async -> Bool {
        let connecting = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(unixDomainSocketPath: path)
        // If the connection fails, no process listens.
        guard let channel = try? await connecting.get() else { return false }
        channel.close(promise: nil)
        return true
    }
}
