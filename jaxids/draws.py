"""Random numbers for lanes: a counter-based stream for every trial, drawn straight into the trials-last layout.

A trial's stream is the two words of its own key. The numbers of step t are threefry applied to the counters
(t, site, i), so a draw depends on the trial's key and its place in the trial, and on nothing else: not on the
number of lanes, the tile or the device. `jax.random` gives the same guarantee, but under vmap it puts the trials first,
and on a CPU its threefry is a loop of small operations, which costs more than the rest of a step.
"""

from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, Key, UInt32

from jaxids import lanes, nodes

__all__ = ["Stream", "centred", "child", "fold_in", "normal", "stream", "threefry", "uniform", "words"]

SITE_BITS = 16  # of a counter's 32; the rest count the numbers of one draw


ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


@partial(nodes.register, data_fields=("words", "step", "site"), meta_fields=("depth",))
@dataclass(frozen=True)
class Stream:
    """The words of each lane's key, and a place in its sequence: a step, and a site within it."""

    words: UInt32[Array, "2 ..."]
    step: UInt32[Array, ""]
    site: int | Int[Array, ""] = 0
    depth: int = 0


def fold_in(key: Key[Array, "..."], number: UInt32[Array, "..."]) -> Key[Array, "..."]:
    """`jax.random.fold_in` of many at once, in one chain of arithmetic, which compiles faster than the loop of JAX."""
    words = threefry(_words_of(key), jnp.uint32(0), number)
    return jax.random.wrap_key_data(jnp.stack(words, axis=-1), impl=jax.random.key_impl(key))


def stream(key: Key[Array, "..."]) -> UInt32[Array, "2 ..."]:
    """The words of one trial's stream, or of many: `jax.random.bits(key, (2,))` by JAX's default settings."""
    counter = jnp.arange(2, dtype=jnp.uint32).reshape(2, *(1 for _ in key.shape))
    return lax.bitwise_xor(*threefry(_words_of(key)[:, None], jnp.uint32(0), counter))


def _words_of(key: Key[Array, "..."]) -> UInt32[Array, "2 ..."]:
    return jnp.moveaxis(jax.random.key_data(key), -1, 0)


def child(source: Stream, site: int | Int[Array, ""]) -> Stream:
    """A place apart from its parent and siblings, at most two levels deep."""
    if isinstance(site, int) and not 0 < site < 256:
        raise ValueError(f"site: got {site}; it takes 1 to 255")
    if source.depth > 1:
        raise ValueError("source: got a child of a child; it takes a stream at most one level deep")
    return replace(source, site=source.site * 256 + site, depth=source.depth + 1)


def words(source: Stream, count: int) -> tuple[UInt32[Array, "n ..."], UInt32[Array, "n ..."]]:
    """Two independent words for each of `count` counters."""
    if count > 2 ** (32 - SITE_BITS):
        raise ValueError(f"count: got {count}; it takes at most {2 ** (32 - SITE_BITS)} numbers in one draw")
    trials = source.words.shape[1:]
    site = jnp.asarray(source.site, jnp.uint32) << (32 - SITE_BITS)
    counter = jnp.arange(count, dtype=jnp.uint32) + site
    counter = jnp.broadcast_to(counter.reshape((count,) + (1,) * len(trials)), (count, *trials))
    return threefry(source.words, source.step.astype(jnp.uint32), counter)


def threefry(key: UInt32[Array, "2 ..."], left: Array, right: Array) -> tuple[Array, Array]:
    """Threefry-2x32 with twenty rounds (Salmon et al., 2011), unrolled."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ jnp.uint32(0x1BD11BDA))
    left, right = left + schedule[0], right + schedule[1]
    for block in range(5):
        for turn in ROTATIONS[block % 2]:
            left = left + right
            right = left ^ (right << turn | right >> (32 - turn))
        left = left + schedule[(block + 1) % 3]
        right = right + schedule[(block + 2) % 3] + jnp.uint32(block + 1)
    return left, right


def centred(source: Stream, count: int) -> Float[Array, "n ..."]:
    """Uniform on (−1, 1): symmetric about zero, never zero nor an end."""
    if jnp.result_type(float) == jnp.float64:
        high, low = words(source, count)
        whole = (high.astype(jnp.int32) >> 6).astype(jnp.float64) * 2.0**26 + (low >> 6).astype(jnp.float64)
        return (whole + 0.5) * 2.0**-51
    both = jnp.concatenate(words(source, -(-count // 2)))[:count]
    return ((both.astype(jnp.int32) >> 8).astype(jnp.float32) + 0.5) * 2.0**-23


def uniform(source: Stream, count: int) -> Float[Array, "n ..."]:
    """Uniform on (0, 1)."""
    draw = 0.5 * centred(source, count) + 0.5
    return jnp.minimum(draw, 1 - jnp.finfo(draw.dtype).epsneg)  # the largest rounds up to 1


def normal(source: Stream, count: int) -> Float[Array, "n ..."]:
    """Standard normal, by the inverse of its distribution function."""
    draw = lanes.shared(centred(source, count))
    return jnp.asarray(2.0**0.5, draw.dtype) * lax.erf_inv(draw)
