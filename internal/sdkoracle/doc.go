// Package sdkoracle holds no code: its tests check that the adapters' requests
// are those that the vendors' own SDKs make of the same values, and that both
// read the same streams alike. It is a module of its own, so that Forge does
// not depend on the SDKs (docs/decisions/0002 and 0018).
package sdkoracle
